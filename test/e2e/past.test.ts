/** A builder that cannot read its last set, or has no git, while the service runs. */
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'

import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import {
  healthOf,
  inventory,
  newLedger,
  problemsOfSet,
  sound,
  useProgram,
  withHooks,
} from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { admin } from './operator.ts'
import { firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('starts the compiled program')

const testClock = 'test/support/test-clock.ts'
const damages = [
  ['a manifest with one byte changed', 'snapshot.json', changeByte],
  ['a manifest cut off', 'snapshot.json', cutOff],
  ['a document cut off', 'api/v1/rails.json', cutOff],
  ['a compressed document cut off', 'api/v1/rails.json.br', cutOff],
] as const

function changeByte(path: string): void {
  const bytes = readFileSync(path)
  bytes.write('x', bytes.length >> 1)
  writeFileSync(path, bytes)
}

function cutOff(path: string): void {
  truncateSync(path, 100)
}

const program = useProgram()
let sources: RecordedSources
let ledger: Ledger
let service: Running
let url: string

beforeAll(async () => {
  sources = await startRecordedSources()
})

afterAll(async () => {
  await sources.stop()
})

async function build(env: Readonly<Record<string, string>> = {}): Promise<number | null> {
  return await ledger.builder(['--once'], env).ended
}

async function expectRefused(says: RegExp): Promise<void> {
  const before = inventory(ledger.publicDir)
  expect(await build()).toBe(1)
  expect(inventory(ledger.publicDir)).toEqual(before)
  const detail: unknown = expect.stringMatching(says)
  const problems: unknown = expect.arrayContaining(['the last run of the job build failed'])
  expect(await healthOf(url)).toMatchObject({
    status: 'degraded',
    problems,
    jobs: { build: { outcome: 'failed', detail } },
  })
  const answer = await fetch(`${url}/api/v1/rails`)
  expect(answer.status).toBe(200)
  expect(z.object({ count: z.number() }).parse(await answer.json()).count).toBeGreaterThan(45)
}

async function expectWell(): Promise<void> {
  expect(await build()).toBe(0)
  // The service checks once a second.
  await expect.poll(async () => await healthOf(url), { timeout: 60_000 }).toMatchObject(sound)
  expect(problemsOfSet(ledger)).toEqual([])
}

describe('a published set that cannot be read', () => {
  beforeEach(async () => {
    const clock = { ...withHooks(program, testClock), TEST_CLOCK_MS: String(firstPollMs) }
    // Later builds use the real clock, by which the head of the recorded chain is weeks old.
    ledger = newLedger(program, { ...sources.env, POLL: 'off', RPC_URL_ARBITRUM: '' })
    expect(await build({ ...clock, ...sources.env, POLL: 'on' })).toBe(0)
    const [name = '', size = ''] = readFileSync(
      join(ledger.publicDir, 'log/checkpoint'),
      'utf8',
    ).split('\n')
    const accept = ['log', 'accept', name, size, '--reason', 'the builder was off']
    expect(await admin(ledger, ...accept)).toMatchObject({ code: 0 })
    ;({ service, url } = await ledger.start({ BUILDER: 'off' }))
    expect(await healthOf(url)).toMatchObject({ status: 'ok' })
  })

  afterEach(async () => {
    service.kill('SIGTERM')
    await service.ended
    ledger.remove()
  })

  it.each(damages)('a build that finds %s publishes a whole set', async (_name, file, damage) => {
    const { version } = ledger.manifest()
    // The same file as in the store.
    damage(join(ledger.publicDir, 'current', file))
    await expectWell()
    expect(ledger.manifest().version).toBeGreaterThan(version)
  })

  it('stored figures that are invalid are not published', async () => {
    const store = async (figures: string) =>
      await ledger.withDatabase(async ({ db }) => {
        const { numUpdatedRows } = await db
          .updateTable('polls')
          .set({ figures })
          .where('rail', '=', 'olas')
          .executeTakeFirst()
        expect(numUpdatedRows).toBe(1n)
      })
    const kept = await ledger.withDatabase(async ({ reader }) => {
      const row = await reader
        .selectFrom('polls')
        .select('figures')
        .where('rail', '=', 'olas')
        .executeTakeFirstOrThrow()
      return row.figures ?? ''
    })
    await store('{"figures":{"tpv30dMicroUsdc":"a lot"}}')
    await expectRefused(/^the stored figures of olas cannot be read \(restore the database, /)
    await store(kept)
    await expectWell()
  })
})

describe('a builder without git', () => {
  it('a builder without git publishes, reports that git is missing, and archives once it is installed', async () => {
    ledger = newLedger(program, { POLL: 'off' })
    const nothing = join(ledger.dataDir, 'nothing')
    mkdirSync(nothing, { recursive: true })
    const builder = ledger.builder(['--once'], { PATH: nothing })
    expect(await builder.ended).toBe(0)
    expect(builder.output()).toContain('git is not installed')
    expect(problemsOfSet(ledger)).toEqual([])
    ;({ service, url } = await ledger.start({ BUILDER: 'off' }))
    const { status, jobs } = await healthOf(url)
    expect(status).toBe('ok')
    expect(jobs['build']?.detail).toMatch(
      /^\d+ documents changed, not archived: git is not installed$/,
    )
    expect(await build()).toBe(0)
    expect(ledger.git('log', '--format=%s').trim()).toMatch(/^ledger: first build, /)
    expect((await healthOf(url)).jobs['build']?.detail).toMatch(/\bcommitted [0-9a-f]{7}$/)
    service.kill('SIGTERM')
    await service.ended
    ledger.remove()
  })
})
