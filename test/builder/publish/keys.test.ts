import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as noble from '@noble/ed25519'
import { beforeEach, expect, test } from 'vitest'

import { rotateKey } from '../../../scripts/cli/admin/keys.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { followKeys, verifyDocument } from '../../../src/client/verify.ts'
import { signingKeys } from '../../../src/contract/schemas/service.ts'
import type { SigningKeys } from '../../../src/contract/schemas/service.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { sha256, startMs } from './set.ts'

allowSlowTests('starts openssl')

let root: string
let dir: string
let file: string

beforeEach(() => {
  root = tempFolder()
  dir = join(root, 'run/keys')
  file = join(dir, 'signing-keys.json')
})

const load = async (nowMs = startMs) => loadKeys({ dir, nowMs })
const rotate = async (nowMs: number) => rotateKey({ dir, nowMs })

test('the first start creates a key that only its owner can read, and the next one loads it', async () => {
  const first = await load()
  const again = await load(startMs + 1000)
  expect(again.publicKeys).toEqual(first.publicKeys)
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(dir)).toEqual(['signing-keys.json'])
})

test('a public key is named after its bytes and verifies the signatures of the signer', async () => {
  const { signer, publicKeys } = await load()
  expect(signingKeys.parse(publicKeys)).toEqual(publicKeys)
  const [key] = publicKeys.keys
  const raw = Buffer.from(key?.public_key ?? '', 'base64')
  expect(key).toMatchObject({
    alg: 'ed25519',
    status: 'active',
    created_at: '2026-11-21T06:00:00.000Z',
  })
  expect(key?.kid).toBe(sha256(raw).slice(0, 16))
  expect(signer.kid).toBe(key?.kid)
  const message = Buffer.from('the bytes as they are served')
  expect(await noble.verifyAsync(signer.sign(message), message, raw)).toBe(true)
  expect(JSON.stringify(publicKeys)).not.toContain('PRIVATE')
})

test('rotation retires the key, deletes its private part and keeps verifying its signatures', async () => {
  const old = await load()
  const message = Buffer.from('signed before')
  const signature = old.signer.sign(message)
  const before = readFileSync(file, 'utf8')

  await rotate(startMs + 1000)
  const now = await rotate(startMs + 2000)

  expect(now.publicKeys.keys.map(({ status, retired_at }) => [status, retired_at])).toEqual([
    ['active', undefined],
    ['retired', '2026-11-21T06:00:02.000Z'],
    ['retired', '2026-11-21T06:00:01.000Z'],
  ])
  expect(now.ring.verify(old.signer.kid, message, signature)).toBe('good')
  expect(now.ring.verify(old.signer.kid, Buffer.from('other'), signature)).toBe('bad')
  expect(now.ring.verify('0'.repeat(16), message, signature)).toBe('unknown key')
  expect((await load()).publicKeys).toEqual(now.publicKeys)
  const [, oldPem = 'none'] = /KEY-----\\n(.+?)\\n/.exec(before) ?? []
  expect(before).toContain(oldPem)
  expect(readFileSync(file, 'utf8')).not.toContain(oldPem)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a reader with the first key follows its successors, and nothing that they did not sign', async () => {
  const pinned = (await load()).publicKeys
  await rotate(startMs + 1000)
  const { signer, publicKeys } = await rotate(startMs + 2000)
  const bytes = Buffer.from('a document')
  const signature = Buffer.from(signer.sign(bytes)).toString('base64')
  const verified = async (listed: SigningKeys) =>
    await verifyDocument(bytes, { signature, kid: signer.kid }, followKeys(pinned, listed))
  expect(await verified(publicKeys)).toMatchObject({ good: true })
  const [newest, second, first] = publicKeys.keys
  if (!newest || !second || !first) throw new Error('there are three keys')
  const forged = { ...second, signature: newest.signature }
  expect(await verified({ keys: [newest, forged, first] })).toMatchObject({
    good: false,
    detail: 'the key is not listed',
  })
})

test('processes that start at once agree on one key', async () => {
  const loaded = await Promise.all(Array.from({ length: 2 }, async () => load()))
  expect(new Set(loaded.map(({ signer }) => signer.kid)).size).toBe(1)
})

test.each([
  ['the file', '640', () => file],
  ['the file', '604', () => file],
  ['the directory', '755', () => dir],
])('%s open to others (%s) is refused with the command that closes it', async (_, mode, path) => {
  await load()
  chmodSync(path(), mode)
  await expect(load()).rejects.toThrow(/chmod [67]00 /)
})

test.each([
  ['is empty', () => ''],
  ['is cut off', (text: string) => text.slice(0, 200)],
  [
    'has another public part',
    (text: string) => text.replace(/"public_key": "..../, '"public_key": "AAAA'),
  ],
  ['has another name', (text: string) => text.replace(/"kid": "..../, '"kid": "0000')],
  ['contains no key', (text: string) => text.replace(/MC4C/, 'MC4D')],
])('a file that %s is refused, left as it is, and never quoted', async (_, damage) => {
  await load()
  const good = readFileSync(file, 'utf8')
  const bad = damage(good)
  expect(bad).not.toBe(good)
  writeFileSync(file, bad)
  const failure = load()
  await expect(failure).rejects.toThrow(/signing-keys.json cannot be used: .+ Restore it/)
  await expect(failure).rejects.not.toThrow(/PRIVATE|MC4C/)
  expect(readFileSync(file, 'utf8')).toBe(bad)
})
