/** Breaks each part that `admin doctor` checks. The command reports this part alone, with a remedy. */
import {
  chmodSync,
  mkdirSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { doctorChecks } from '../../scripts/cli/admin/doctor.ts'
import { withPlainFile } from '../../scripts/cli/admin/integrity.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { boardReceipt, installBoardProgram } from './board.ts'
import { sendReceipt } from './clients.ts'
import { newLedger, useProgram } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { admin, diagnose } from './operator.ts'

allowSlowTests('starts the compiled program')

const program = useProgram(installBoardProgram)
let ledger: Ledger

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  const { service, url } = await ledger.start({ BUILDER: 'off' })
  for (let at = 0; at < 5; at += 1) await sendReceipt(url, await boardReceipt(at))
  service.kill('SIGTERM')
  await service.ended
  expect(await ledger.builder(['--once']).ended).toBe(0)
}, 120_000)
afterAll(() => {
  ledger.remove()
})

async function sqlOn(...statements: readonly string[]): Promise<void> {
  await withPlainFile(join(ledger.dataDir, 'ledger.db'), 'read-write', async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  })
}

const inData = (...names: string[]) => join(ledger.dataDir, ...names)

function changed(path: string, change: (text: string) => string): () => void {
  const before = readFileSync(path)
  writeFileSync(path, change(before.toString('utf8')))
  return () => writeFileSync(path, before)
}

function opened(path: string): () => void {
  chmodSync(path, 0o644)
  return () => chmodSync(path, 0o600)
}

type Undo = () => void | Promise<void>

/** The damage and the expected message, by name of the check. */
const breaks: Readonly<
  Record<
    string,
    { readonly says: RegExp; readonly args?: string[]; readonly harm: () => Promise<Undo> | Undo }
  >
> = {
  database: {
    says: /^.*0001_later.*later one/,
    harm: async () => {
      const rename = (from: string, to: string) =>
        `update schema_migrations set name = '${to}' where name = '${from}'`
      await sqlOn(rename('0001_baseline', '0001_later'))
      return async () => await sqlOn(rename('0001_later', '0001_baseline'))
    },
  },
  'pages of the database': {
    says: /row .* missing from index article_views_by_hour/,
    harm: async () => {
      const define = (text: string) => [
        'pragma writable_schema = on',
        `update sqlite_schema set sql = '${text}' where name = 'article_views_by_hour'`,
      ]
      await sqlOn(
        `insert into article_views values ('a', 1, 2)`,
        `insert into article_views values ('b', 2, 1)`,
      )
      await sqlOn(...define('CREATE INDEX article_views_by_hour on article_views (views)'))
      return async () => {
        await sqlOn(...define('CREATE INDEX article_views_by_hour on article_views (hour)'))
        await sqlOn('delete from article_views')
      }
    },
  },
  'references between rows': {
    says: /^broken in rail_state$/,
    harm: async () => {
      await sqlOn(
        'pragma foreign_keys = off',
        `insert into rail_state (rail, last_poll_id, state) values ('no-rail', 999, '{}')`,
      )
      return async () => await sqlOn(`delete from rail_state where rail = 'no-rail'`)
    },
  },
  'scores against entries': {
    says: /^4 figures differ/,
    harm: async () => {
      await sqlOn(`insert into reputation values ('0xabc', '0xabc', 5.5, 0, 1, 1, 1, null, null)`)
      return async () => await sqlOn(`delete from reputation where wallet = '0xabc'`)
    },
  },
  'write-ahead log': {
    says: /^300 MiB$/,
    harm: () => {
      const wal = inData('ledger.db-wal')
      writeFileSync(wal, '')
      truncateSync(wal, 300 * 2 ** 20)
      return () => rmSync(wal)
    },
  },
  clock: {
    says: /the newest row is from 2090-/,
    harm: async () => {
      const time = '2090-01-01T00:00:00.000Z'
      await sqlOn(
        `insert into job_runs (job, started_at, finished_at, outcome) values ('expire', '${time}', '${time}', 'ok')`,
      )
      return async () => await sqlOn(`delete from job_runs where started_at = '${time}'`)
    },
  },
  'jobs of the builder': {
    says: /^pacts: the node is unreachable$/,
    harm: async () => {
      const time = '2026-01-01T00:00:00.000Z'
      await sqlOn(
        `insert into job_runs (job, started_at, finished_at, outcome, detail)
         values ('pacts', '${time}', '${time}', 'failed', 'the node is unreachable')`,
      )
      return async () =>
        await sqlOn(`delete from job_runs where detail = 'the node is unreachable'`)
    },
  },
  'signing keys': {
    says: /signing-keys\.json can be read by users other than its owner.*chmod 600/,
    harm: () => opened(inData('keys', 'signing-keys.json')),
  },
  secrets: { says: /hash\.key has mode 644$/, harm: () => opened(inData('secrets', 'hash.key')) },
  'free disk space': {
    says: /MiB free/,
    args: ['--min-free', '999999999'],
    harm: () => () => undefined,
  },
  'published set': {
    says: /favicon/,
    harm: () =>
      changed(
        join(realpathSync(join(ledger.publicDir, 'current')), 'favicon.svg'),
        (text) => `${text} `,
      ),
  },
  'snapshot repository': {
    says: /^git fsck:/,
    harm: () => {
      const folder = inData('snapshots.git', 'objects', 'aa')
      const path = join(folder, 'a'.repeat(38))
      mkdirSync(folder, { recursive: true })
      writeFileSync(path, 'no object')
      return () => rmSync(path)
    },
  },
}

describe('agent-income-ledger admin doctor', () => {
  test('doctor reports no problem of a sound ledger after all checks', async () => {
    const { good, checks } = await diagnose(ledger)
    expect(checks.filter((check) => !check.good)).toEqual([])
    expect(good).toBe(true)
    expect(checks.map(({ what }) => what)).toEqual(doctorChecks.map(({ what }) => what))
    expect(checks.some(({ remedy }) => remedy !== undefined)).toBe(false)
    const said = await admin(ledger, 'doctor')
    expect(said.out).toContain('All checks passed.')
  })

  test('each check of doctor has a test that breaks what it checks', () => {
    expect(Object.keys(breaks).toSorted()).toEqual(doctorChecks.map(({ what }) => what).toSorted())
  })

  test('doctor reports missing keys and creates none', async () => {
    const [file, moved] = ['signing-keys.json', 'moved.json'].map((name) => inData('keys', name))
    renameSync(file ?? '', moved ?? '')
    try {
      const { checks } = await diagnose(ledger)
      expect(checks.filter(({ good }) => !good).map(({ what }) => what)).toContain('signing keys')
      expect(existsSync(file ?? '')).toBe(false)
    } finally {
      renameSync(moved ?? '', file ?? '')
    }
  })

  test.each(Object.entries(breaks))(
    'doctor reports only the broken part: %s',
    async (what, { says, args = [], harm }) => {
      const undo = await harm()
      try {
        const { checks } = await diagnose(ledger, ...args)
        const found = checks.filter(({ good }) => !good)
        expect(found.map((one) => one.what)).toEqual([what])
        expect(found[0]?.detail).toMatch(says)
        expect(found[0]?.remedy).toBe(doctorChecks.find((check) => check.what === what)?.remedy)
        expect(found[0]?.remedy?.length).toBeGreaterThan(40)
      } finally {
        await undo()
      }
    },
  )

  test('doctor reports a missing database and the result of every check that works without it', async () => {
    const path = inData('ledger.db')
    renameSync(path, `${path}.moved`)
    const { checks } = await diagnose(ledger)
    renameSync(`${path}.moved`, path)
    expect(checks.filter(({ good }) => !good).map(({ what }) => what)).toEqual(['database'])
    expect(checks.map(({ what }) => what)).toContain('snapshot repository')
  })

  test('doctor reports no problem after all damage is undone', async () => {
    expect((await diagnose(ledger)).good).toBe(true)
  })
})
