/** The client over real HTTP, against a log of the test. */
import { expect, test } from 'vitest'

import { createClient } from '../../src/client/client.ts'
import { CallError } from '../../src/client/errors.ts'
import { InconsistentLogError, LogError } from '../../src/client/log.ts'
import type { CheckpointStore, LogReader } from '../../src/client/log.ts'
import type { Check } from '../../src/core/check.ts'
import { NoteError } from '../../src/core/tlog/checkpoint.ts'
import { parseEntry } from '../../src/core/tlog/entry.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import {
  createTestLog,
  logKeyTitle,
  logVkey,
  serveTestLog,
  testEntries,
} from '../support/test-log.ts'
import type { TestLog } from '../support/test-log.ts'

function logAt(url: string, store?: CheckpointStore): LogReader {
  const { log } = createClient({
    baseUrl: url,
    serviceName: 'ledger',
    fetch,
    clock: systemClock,
    random: systemRandom,
    log: { vkey: logVkey, ...(store === undefined ? {} : { store }) },
  })
  if (log === null) throw new Error('no log')
  return log
}

async function served(count: number) {
  const log = createTestLog()
  await log.grow(testEntries(0, count))
  let current = log
  const { url, requested } = await serveTestLog(() => current)
  const serve = (other: TestLog) => {
    current = other
  }
  return { log, url, requested, serve }
}

const noteOf = ({ files }: TestLog) => Buffer.from(files.get('checkpoint') ?? []).toString()

test('a client without the key of the log has no log, and refuses a malformed key', () => {
  const options = {
    baseUrl: 'http://127.0.0.1:9',
    serviceName: 'ledger',
    fetch,
    clock: systemClock,
    random: systemRandom,
  }
  expect(createClient(options).log).toBeNull()
  expect(() => createClient({ ...options, log: { vkey: 'x' } })).toThrow(CallError)
})

test('a check gives verified entries and is compared with the checkpoint before', async () => {
  const { log, url } = await served(300)
  const reader = logAt(url)
  const { checkpoint, entriesOf } = await reader.check()
  expect(checkpoint.size).toBe(300)
  const entries = await entriesOf(1)
  expect(entries.map((bytes) => parseEntry(bytes))).toEqual(testEntries(256, 44))
  await log.grow(testEntries(300, 1))
  expect((await reader.check()).checks.map(({ detail }) => detail)).toContain(
    'consistent with size 300',
  )
})

test('a fork throws both signed checkpoints, and the store keeps the first one', async () => {
  const { log, url, serve } = await served(300)
  let kept: string | null = null
  const store: CheckpointStore = {
    load: () => Promise.resolve(kept),
    save: (note) => {
      kept = note
      return Promise.resolve()
    },
  }
  await logAt(url, store).check()
  const fork = createTestLog()
  await fork.grow(testEntries(1, 400))
  serve(fork)
  const found = await logAt(url, store)
    .check()
    .catch((error: unknown) => error)
  expect(found).toBeInstanceOf(InconsistentLogError)
  expect(found).toMatchObject({ notes: [noteOf(log), noteOf(fork)] })
  expect(kept).toBe(noteOf(log))
})

test.each([true, false])('a proof is accepted with its entry in it: %s', async (withEntry) => {
  const { log, url, requested } = await served(700)
  const reader = logAt(url)
  for (const index of [0, 255, 256, 511, 512, 699]) {
    const steps: Check[] = []
    const expected = { kind: 'receipt', id: `rcp_${index}` } as const
    const proven = await reader.prove(await log.prove(index, withEntry), expected, (step) =>
      steps.push(step),
    )
    expect(proven).toMatchObject({ index, entry: testEntries(index, 1)[0] })
    expect(steps.map(({ what }) => what)).toEqual([
      'checkpoint',
      'witnesses',
      'entry',
      'inclusion',
      'consistency',
    ])
  }
  expect(requested.length > 0).toBe(!withEntry)
})

test('a proof with an older checkpoint must fit the checkpoint that was seen', async () => {
  const { log, url, serve } = await served(300)
  const older = await log.prove(7)
  await log.grow(testEntries(300, 300))
  const reader = logAt(url)
  await reader.check()
  expect((await reader.prove(older, {})).checkpoint.size).toBe(300)
  const fork = createTestLog()
  await fork.grow(testEntries(7, 300))
  await expect(reader.prove(await fork.prove(7), {})).rejects.toThrow(InconsistentLogError)
  await fork.grow(testEntries(307, 600))
  serve(fork)
  await expect(reader.prove(await fork.prove(7), {})).rejects.toThrow(InconsistentLogError)
})

test.each([
  [
    'of another entry',
    (proof: string) => proof,
    { id: 'rcp_8' },
    'entry 7 has the id rcp_7 instead of rcp_8',
  ],
  [
    'of another kind',
    (proof: string) => proof,
    { kind: 'poll' } as const,
    'entry 7 has the kind receipt instead of poll',
  ],
  [
    'of another text',
    (proof: string) => proof,
    { sha256: 'cd'.repeat(32) },
    `entry 7 has the sha256 ${'ab'.repeat(32)} instead of`,
  ],
  ['that is cut short', (proof: string) => proof.replace('\n\n', '\n'), {}, 'this is not a proof'],
  [
    'with another index',
    (proof: string) => proof.replace('index 7', 'index 6'),
    {},
    'the hashes do not lead from entry 6 to the root of the checkpoint',
  ],
  [
    'with an index beyond its checkpoint',
    (proof: string) => proof.replace('index 7', 'index 300'),
    {},
    'the hashes do not lead from entry 300',
  ],
  [
    'without one of its hashes',
    (proof: string) => proof.replace(/(index 7\n).*\n/, '$1'),
    {},
    'the hashes do not lead from entry 7',
  ],
  [
    'with another entry',
    (proof: string) => proof.replace(/extra .*/, `extra ${Buffer.from('{}').toString('base64')}`),
    {},
    'entry 7 is malformed',
  ],
  [
    'of a checkpoint with another size',
    (proof: string) => proof.replace('\n300\n', '\n301\n'),
    {},
    `the signature by ${logKeyTitle} is not valid`,
  ],
])('a proof %s is refused', async (_, change, expected, message) => {
  const { log, url } = await served(300)
  const proof = await log.prove(7)
  const reader = logAt(url)
  await reader.prove(proof, { id: 'rcp_7' })
  const refused = await reader.prove(change(proof), expected).catch((error: unknown) => error)
  expect([LogError, NoteError].some((kind) => refused instanceof kind)).toBe(true)
  expect(String(refused)).toContain(message)
})
