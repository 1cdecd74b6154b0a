import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { loadKeyedHash } from '../src/auth/keyed-hash.ts'
import { tempFolder } from './db/temp-database.ts'

const random = { bytes: (length: number) => randomBytes(length) }

const folder = () => join(tempFolder(), 'secrets')

test('the secret is created once, readable by its owner alone, and loaded again', async () => {
  const dir = folder()
  const first = await loadKeyedHash(dir, random)
  const again = await loadKeyedHash(dir, random)
  expect(again('email', 'a@ledger.example')).toBe(first('email', 'a@ledger.example'))
  expect(first('code', 'a@ledger.example')).not.toBe(first('email', 'a@ledger.example'))
  const path = join(dir, 'hash.key')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await readFile(path)).length).toBe(32)
})

test('processes that start at the same time load the same secret', async () => {
  const dir = folder()
  const hashes = await Promise.all(Array.from({ length: 10 }, () => loadKeyedHash(dir, random)))
  expect(new Set(hashes.map((hash) => hash('p', 'text'))).size).toBe(1)
})

test('a file without a secret stops the start', async () => {
  const dir = folder()
  await loadKeyedHash(dir, random)
  await writeFile(join(dir, 'hash.key'), '')
  await expect(loadKeyedHash(dir, random)).rejects.toThrow('does not contain 32 bytes')
})
