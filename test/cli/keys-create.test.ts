import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { loadExchangeKeys } from '../../src/auth/exchange-keys.ts'
import { loadKeyedHash } from '../../src/auth/keyed-hash.ts'
import { readKeys } from '../../src/auth/service-keys.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'

test('with KEYS=required a missing key is named and not made, and admin keys create makes all once', async () => {
  const folder = tempFolder()
  const dir = join(folder, 'keys')
  const secrets = join(folder, 'secrets')
  const loads = {
    [join(dir, 'signing-keys.json')]: () => readKeys(dir),
    [join(dir, 'job-exchange.pem')]: () => loadExchangeKeys(dir, null),
    [join(secrets, 'hash.key')]: () => loadKeyedHash(secrets, null),
  }
  const command = (...args: string[]) =>
    runCommand(['admin', 'keys', ...args], {
      DATA_DIR: folder,
      PUBLIC_DIR: folder,
      KEYS: 'required',
    })
  for (const [path, load] of Object.entries(loads)) {
    await expect(load()).rejects.toThrow(`${path} is missing: restore or mount the folder`)
  }
  for (const args of [['list'], ['rotate'], ['rotate-exchange']]) {
    expect((await command(...args)).err).toContain('admin keys create')
  }
  expect([dir, secrets].map(existsSync)).toEqual([false, false])

  const created = await command('create', '--json')
  expect([created.code, created.err]).toEqual([0, ''])
  for (const load of Object.values(loads)) await load()
  expect((await command('create', '--json')).out).toBe(created.out)
  expect((await command('list', '--json')).out).toBe(created.out)
})
