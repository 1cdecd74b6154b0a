import { randomBytes } from 'node:crypto'
import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises'

import { beforeEach, expect, test } from 'vitest'

import {
  exchangeKeyPaths,
  issuerOf,
  loadExchangeKeys,
  rotateExchangeKey,
} from '../../src/auth/exchange-keys.ts'
import { toBase64 } from '../../src/core/base64.ts'
import { tempFolder } from '../db/temp-database.ts'

const random = { bytes: (length: number) => randomBytes(length) }
const nowMs = Date.UTC(2026, 10, 21)
let dir: string

beforeEach(() => {
  dir = tempFolder()
})

test('a key rotation lists the public part of the old key as retired, newest first', async () => {
  const first = issuerOf(await loadExchangeKeys(dir, random))
  expect(first.retired).toBeUndefined()
  const second = issuerOf(await rotateExchangeKey(dir, { random, nowMs }))
  const third = issuerOf(await rotateExchangeKey(dir, { random, nowMs: nowMs + 1000 }))
  expect(new Set([first, second, third].map((issuer) => issuer.public_key)).size).toBe(3)
  expect(third.retired).toEqual([
    { public_key: second.public_key, retired_at: '2026-11-21T00:00:01.000Z' },
    { public_key: first.public_key, retired_at: '2026-11-21T00:00:00.000Z' },
  ])
  expect(issuerOf(await loadExchangeKeys(dir, random))).toEqual(third)
  const paths = exchangeKeyPaths(dir)
  expect(await readdir(dir)).toHaveLength(paths.length)
  for (const path of paths) expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('an interrupted key rotation lists no active key as retired', async () => {
  const { active } = await loadExchangeKeys(dir, random)
  const retired = [
    { public_key: toBase64(active.publicKey), retired_at: '2026-11-21T00:00:00.000Z' },
  ]
  await writeFile(exchangeKeyPaths(dir)[1] ?? '', JSON.stringify({ retired }), { mode: 0o600 })
  expect(issuerOf(await loadExchangeKeys(dir, random)).retired).toBeUndefined()
})

test('loadExchangeKeys refuses invalid files and never replaces them', async () => {
  await loadExchangeKeys(dir, random)
  const [key = '', list = ''] = exchangeKeyPaths(dir)
  await writeFile(list, '{"retired":[{}]}')
  await expect(rotateExchangeKey(dir, { random, nowMs })).rejects.toThrow('cannot be used')
  await rm(list)
  await chmod(key, 0o644)
  await expect(loadExchangeKeys(dir, random)).rejects.toThrow('chmod 600')
})
