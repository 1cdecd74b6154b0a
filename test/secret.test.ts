import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { loadKeyedHash } from '../src/auth/keyed-hash.ts'

const random = { bytes: (length: number) => randomBytes(length) }

async function folder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'ledger-secret-'))
  onTestFinished(() => rm(root, { recursive: true }))
  return join(root, 'secrets')
}

test('the secret is made once, for the owner alone, and kept', async () => {
  const dir = await folder()
  const first = await loadKeyedHash(dir, random)
  const again = await loadKeyedHash(dir, random)
  expect(again('email', 'a@ledger.example')).toBe(first('email', 'a@ledger.example'))
  expect(first('code', 'a@ledger.example')).not.toBe(first('email', 'a@ledger.example'))
  const path = join(dir, 'hash.key')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await readFile(path)).length).toBe(32)
})

test('processes that start at the same time come to one secret', async () => {
  const dir = await folder()
  const hashes = await Promise.all(Array.from({ length: 10 }, () => loadKeyedHash(dir, random)))
  expect(new Set(hashes.map((hash) => hash('p', 'text'))).size).toBe(1)
})

test('a file that is no secret stops the start', async () => {
  const dir = await folder()
  await loadKeyedHash(dir, random)
  await writeFile(join(dir, 'hash.key'), '')
  await expect(loadKeyedHash(dir, random)).rejects.toThrow('does not contain 32 bytes')
})
