import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { withPlainFile } from '../../scripts/cli/admin/integrity.ts'
import { receiptKeyOf, parseSecretKey } from '../../src/client/signers.ts'
import { openDatabase } from '../../src/db/open.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { json, useShell } from './shell.ts'
import type { Ended } from './shell.ts'

allowSlowTests('starts the compiled program')

const shell = useShell()
let keys: Record<string, string>

const at = (name: string) => join(shell.folder, name)
const admin = (line: string, ...more: string[]) =>
  shell.cli(['admin', ...line.split(' '), ...more, '--json'])
const done = (line: Parameters<typeof shell.done>[0]) => shell.done(line, keys)
const resultOf = ({ out }: Ended) => json(out)
const kids = z.array(z.looseObject({ kid: z.string() }))
const checks = z.array(z.looseObject({ what: z.string(), good: z.boolean() }))
const failedChecks = (ended: Ended) =>
  checks.parse(resultOf(ended)['checks']).flatMap(({ what, good }) => (good ? [] : [what]))

beforeAll(async () => {
  keys = await shell.newWallet('wallet')
  await shell.start()
}, 120_000)

describe('agent-income-ledger admin, while the service runs', () => {
  test('opens a flag that readers see and closes it with a reason', async () => {
    const flag = 'flags open --kind self_dealing --rail x402 --severity'
    const opened = resultOf(
      await admin(`${flag} critical`, '--title', 'Pays itself', '--reason', 'seen on chain'),
    )
    const id = String(opened['id'])
    expect(resultOf(await admin('flags list'))).toMatchObject({
      count: 1,
      flags: [{ id, rail: 'x402' }],
    })
    const twice = await admin(`${flag} info --title again --reason again`)
    expect(twice.code).toBe(1)
    expect((await admin('flags close flg_none --reason x')).code).toBe(1)
    expect(await done(`admin flags close ${id} --reason settled`)).toMatchObject({
      closeReason: 'settled',
    })
    expect(resultOf(await admin('flags list'))).toMatchObject({ count: 0 })
    const lines = readFileSync(join(shell.dataDir, 'operator.log'), 'utf8').trim().split('\n')
    expect(lines.map((line) => json(line)['command'])).toEqual(['flags open', 'flags close'])
  })

  test('refuses a flag on an unknown rail or of an unknown kind', async () => {
    const flag = 'flags open --severity info --title x --reason x --kind'
    expect((await admin(`${flag} bad_mood`)).code).toBe(2)
    expect((await admin(`${flag} self_dealing --rail no`)).code).toBe(2)
  })

  test('lists feedback and decides on each proposal once', async () => {
    await done(['feedback', 'a word', '--rating', '4'])
    expect(resultOf(await admin('feedback list'))).toMatchObject({
      feedback: [{ message: 'a word', rating: 4 }],
    })
    const details = '--category data-ml --surface x402 --description'.split(' ')
    const proposal = await done([
      'skill',
      'propose',
      'Gardening',
      ...details,
      'Keeps prompts tidy.',
    ])
    const id = String(proposal['proposal_id'])
    expect(resultOf(await admin('proposals list'))).toMatchObject({ proposals: [{ id }] })
    expect((await admin(`proposals accept ${id}`)).code).toBe(0)
    expect((await admin(`proposals reject ${id} --reason late`)).code).toBe(1)
    expect(resultOf(await admin('proposals list --status accepted'))).toMatchObject({
      count: 1,
    })
  })

  test('grants a partner a tier and releases its bound wallet', async () => {
    await done('partner signup --handle acme --display-name Acme')
    const set = await admin('partners set-tier acme pro --days 7 --reason gift')
    expect(resultOf(set)).toMatchObject({ tier: 'pro', status: 'active' })
    expect(await done('partner me')).toMatchObject({ tier: 'pro', status: 'active' })
    expect((await admin('partners release-wallet acme --reason', 'lost key')).code).toBe(0)
    expect(resultOf(await admin('partners list'))).toMatchObject({
      partners: [{ handle: 'acme', attestation_wallet: null }],
    })
    expect((await admin('partners set-tier nobody pro --reason x')).code).toBe(1)
    expect((await admin('partners set-tier acme gold --reason x')).code).toBe(2)
  })

  test('adds a platform only with proof of its key and never deletes one', async () => {
    const data = at('authored')
    cpSync('data', data, { recursive: true, filter: (path) => !path.startsWith('data/run') })
    const key = receiptKeyOf(parseSecretKey(`seed:${'11'.repeat(32)}`))
    const add = `platforms add board --name Board --rail x402 --public-key ${key.publicKey} --data ${data}`
    const { challenged_at: time, text } = resultOf(await admin(add))
    expect(text).toBe(`agent-income-ledger-platform-v1:board:${key.publicKey}:${String(time)}`)
    const proof = (of: string) => ['--challenged-at', String(time), '--proof', key.sign(of)]
    expect((await admin(add, ...proof(`${String(text)} `))).code).toBe(1)
    expect((await admin(add, '--challenged-at', '2020-01-01T00:00:00Z', '--proof', 'x')).code).toBe(
      2,
    )
    expect((await admin(add, ...proof(String(text)))).code).toBe(0)
    expect((await admin(add, ...proof(String(text)))).code).toBe(2)
    expect((await admin(`platforms revoke board --reason leaked --data ${data}`)).code).toBe(0)
    const listed = resultOf(await admin(`platforms list --data ${data}`))
    expect(JSON.stringify(listed)).toMatch(/"platform":"board".*"revoked_at":"20/)
  })

  test('rotates the signing key and keeps the old one listed', async () => {
    const [old] = kids.parse(resultOf(await admin('keys list'))['keys'])
    const after = resultOf(await admin('keys rotate'))['keys']
    expect(after).toMatchObject([{ status: 'active' }, { status: 'retired', kid: old?.kid }])
    expect(JSON.stringify(after)).not.toContain('PRIVATE')
  })

  test('scores check detects a wrong score', async () => {
    await done('receipt post --rail x402 --amount 3')
    expect(await admin('scores check')).toMatchObject({ code: 0 })
    const database = await openDatabase({ url: join(shell.dataDir, 'ledger.db') })
    await sql`insert into reputation values ('0xabc', '0xabc', 5.5, 0, 1, 1, 1, null, null)`.execute(
      database.db,
    )
    const checked = await admin('scores check')
    await sql`delete from reputation where wallet = '0xabc'`.execute(database.db)
    await database.close()
    expect(checked.code).toBe(1)
    expect(resultOf(checked)).toMatchObject({ good: false })
  })
})

describe('a backup', () => {
  test('a backup is made while the service runs, restored while it is stopped, and accepts no replay', async () => {
    const post = 'receipt post --rail x402 --amount'
    const before = await done(`${post} 1 --save ${at('before.json')}`)
    expect((await admin(`backup ${at('backup.db')}`)).code).toBe(0)
    expect((await admin(`backup ${at('backup.db')}`)).code).toBe(2)

    // Accepted after the backup, so the restored file does not contain the used message.
    const curl = await shell.cli(`${post} 2 --print-curl`, keys)
    const first = resultOf(await shell.bash(curl.out))
    expect(first).toHaveProperty('receipt_id')

    const running = await admin(`restore ${at('backup.db')}`)
    expect(running.code).toBe(2)
    expect(running.err).toContain('in use')
    await shell.stop()
    const restored = await admin(`restore ${at('backup.db')}`)
    expect(restored).toMatchObject({ code: 0 })
    expect(existsSync(String(resultOf(restored)['kept_as']))).toBe(true)
    // Until the next build, documents may contain the receipt that the backup lacks.
    const wrong = failedChecks(await admin('doctor'))
    expect(wrong.filter((what) => what !== 'documents against rows')).toEqual([])
    await shell.start()

    const gone = await shell.cli(`receipt verify ${String(first['receipt_id'])}`)
    expect(gone).toMatchObject({ code: 1 })
    const again = curl.out.replace(/http:\/\/127\.0\.0\.1:\d+/, shell.url())
    expect(resultOf(await shell.bash(again))).toMatchObject({ code: 'signature_expired' })
    const kept = await shell.cli(`receipt verify ${String(before['receipt_id'])}`)
    expect(kept).toMatchObject({ code: 0 })
    // Signed again with the current time, which is too early after a restore.
    const posted = await shell.cli(`receipt post --file ${at('before.json')}`, keys)
    expect(posted).toMatchObject({ code: 1 })
    expect(posted.err).toMatch(/signature_expired.*restored from a backup/s)
    expect(readdirSync(shell.dataDir).filter((name) => name.includes('restoring'))).toEqual([])
  }, 300_000)

  test('a backup is not restored if it was changed, is damaged, has no manifest or is not a ledger', async () => {
    await shell.stop()
    const before = readFileSync(join(shell.dataDir, 'ledger.db'))
    const bad = at('bad')
    mkdirSync(bad)
    const manifest = json(readFileSync(at('backup.db.manifest.json'), 'utf8'))
    /** Copies the backup, changed by `of`, with a manifest of the copy. */
    const copyTo = (name: string, of?: (bytes: Buffer) => Buffer) => {
      const file = join(bad, name)
      const bytes = readFileSync(at('backup.db'))
      const written = of?.(bytes) ?? bytes
      writeFileSync(file, written)
      const sha256 = createHash('sha256').update(written).digest('hex')
      writeFileSync(`${file}.manifest.json`, JSON.stringify({ ...manifest, sha256 }))
      return file
    }
    const changed = copyTo('changed.db')
    await withPlainFile(changed, 'read-write', async (db) => {
      await sql`update receipts set summary = 'another'`.execute(db)
    })
    const bare = copyTo('bare.db')
    rmSync(`${bare}.manifest.json`)
    const missing = copyTo('missing.db')
    rmSync(missing)
    const damaged = copyTo('damaged.db', (bytes) => bytes.fill(0xa5, 3 * 4096, 4 * 4096))
    const foreign = copyTo('foreign.db', (bytes) => {
      // The application id of a SQLite file (https://sqlite.org/fileformat.html, 1.3).
      bytes.writeUInt32BE(0, 68)
      return bytes
    })
    const text = copyTo('text.db', () => Buffer.from('not a database'))
    const found = []
    for (const file of [changed, bare, missing, damaged, foreign, text]) {
      const refused = await admin(`restore ${file}`)
      found.push([basename(file), refused.code, failedChecks(refused)])
    }
    expect(found).toEqual([
      ['changed.db', 1, ['manifest of the backup']],
      ['bare.db', 1, ['manifest of the backup']],
      ['missing.db', 1, ['manifest of the backup', 'database']],
      ['damaged.db', 1, ['database']],
      ['foreign.db', 1, ['schema']],
      ['text.db', 1, ['database']],
    ])
    expect(readFileSync(join(shell.dataDir, 'ledger.db')).equals(before)).toBe(true)
  })

  test('a restore replaces a damaged database only with the option --damaged', async () => {
    writeFileSync(join(shell.dataDir, 'ledger.db'), 'x'.repeat(8192))
    expect((await admin(`restore ${at('backup.db')}`)).code).toBe(2)
    expect((await admin(`restore ${at('backup.db')} --damaged`)).code).toBe(0)
    expect((await admin('doctor')).code).toBe(0)
  })
})

describe('agent-income-ledger admin without a database', () => {
  test('an admin command without a database creates none', async () => {
    const ended = await shell.cli('admin flags list', { DATA_DIR: at('nowhere') })
    expect(ended.code).toBe(2)
    expect(existsSync(at('nowhere'))).toBe(false)
  })
})
