import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { loadKeyFile } from '../../src/auth/key-file.ts'
import { tempFolder } from '../db/temp-database.ts'

const random = { bytes: (length: number) => randomBytes(length) }

const keyPath = () => join(tempFolder(), 'keys', 'exchange.pem')

test('creates a key with mode 0600 and loads the same key again', async () => {
  const path = keyPath()
  const made = await loadKeyFile(path, random)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
  expect((await loadKeyFile(path, random)).kid).toBe(made.kid)
  expect(readdirSync(join(path, '..'))).toEqual(['exchange.pem'])
})

test('two processes that start at once get the same key', async () => {
  const path = keyPath()
  const keys = await Promise.all(Array.from({ length: 8 }, () => loadKeyFile(path, random)))
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1)
  expect(readdirSync(join(path, '..'))).toEqual(['exchange.pem'])
})

test('a key readable by other users and a file without a key are refused and never replaced', async () => {
  const path = keyPath()
  await loadKeyFile(path, random)
  chmodSync(path, 0o644)
  await expect(loadKeyFile(path, random)).rejects.toThrow('chmod 600')
  chmodSync(path, 0o600)
  writeFileSync(path, 'no key')
  await expect(loadKeyFile(path, random)).rejects.toThrow(`${path} is not an ed25519 key`)
  expect(readFileSync(path, 'utf8')).toBe('no key')
})
