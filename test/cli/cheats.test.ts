/** Cheats of an operator who has the key of the log, and what `log verify` says about them to those who looked before. */
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { sha256Hex } from '../../src/auth/messages.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { createTestLog, logClock, logVkey, serveTestLog } from '../support/test-log.ts'

type Entry = Readonly<Record<string, unknown>>

const hashes = ['{"figures":1}', '{"error":"502"}', '{"figures":2}'].map((text) => sha256Hex(text))
const at = (second: number) => new Date(Date.UTC(2026, 10, 1) + second * 1000).toISOString()
const entry = (kind: string, second: number, id: string, more: Entry = {}): Entry => ({
  v: 1,
  kind,
  at: at(second),
  id,
  sha256: sha256Hex(id),
  ...more,
})
const poll = (second: number, turn: number, prev: number | null, outcome = 'ok'): Entry =>
  entry('poll', second, hashes[turn] ?? '', {
    sha256: hashes[turn],
    subject: 'x402',
    prev,
    outcome,
  })
const reputation = (second: number, id: string, prev: number | null): Entry =>
  entry('reputation', second, id, { subject: '0xalice', prev })

/** What the ledger has logged while it was honest. */
const honest: readonly Entry[] = [
  poll(1, 0, null),
  entry('receipt', 2, 'rcp_a'),
  reputation(3, 'first', null),
  poll(4, 1, 0, 'failed'),
  entry('receipt', 5, 'rcp_b'),
  reputation(6, 'second', 2),
]
const later: readonly Entry[] = [entry('receipt', 10, 'rcp_c')]
const without = (index: number) => honest.filter((_, place) => place !== index)
const changed = (index: number, by: Entry) =>
  honest.map((one, place) => (place === index ? { ...one, ...by } : one))
/** Corrects the links between entries, as a cheating operator would. */
const relinked = (entries: readonly Entry[]): readonly Entry[] => {
  const last = new Map<string, number>()
  return entries.map((one, place) => {
    if (one['subject'] === undefined) return one
    const chain = JSON.stringify([one['kind'], one['subject']])
    const prev = last.get(chain) ?? null
    last.set(chain, place)
    return { ...one, prev }
  })
}

const forked = 'the log has forked'
const cheats: readonly (readonly [what: string, forged: readonly Entry[], message: string])[] = [
  ['changes the evidence of a past poll', changed(0, { id: hashes[2], sha256: hashes[2] }), forked],
  ['inserts a poll for an earlier time', relinked([poll(0, 2, null), ...honest]), forked],
  ['deletes a failed poll', relinked(without(3)), forked],
  ['deletes a receipt', relinked(without(1)), forked],
  ['redates a receipt', changed(1, { at: at(3) }), forked],
  ['changes the entry of a wallet', changed(2, { sha256: sha256Hex('more') }), forked],
  [
    'reorders the entries of a wallet',
    [...honest, reputation(9, 'third', 2)],
    'wrongly names 2 as its predecessor',
  ],
  ['adds a poll of yesterday', [...honest, poll(0, 2, 3)], 'has the time'],
  [
    'logs a receipt twice',
    [...honest, entry('receipt', 9, 'rcp_a')],
    'has an id that occurred before',
  ],
]

test.each(cheats)('log verify notices that the operator %s', async (_, forged, message) => {
  let log = createTestLog()
  await log.grow(honest)
  const { url } = await serveTestLog(() => log)
  const args = ['log', 'verify', '--vkey', logVkey, '--state', join(tempFolder(), 'checkpoint')]
  const verify = async () => await runCommand(args, { LEDGER_URL: url }, { fetch, clock: logClock })
  expect((await verify()).code).toBe(0)

  log = createTestLog()
  await log.grow([...forged, ...later])
  const { code, out } = await verify()
  expect(out).toContain(message)
  expect(code).toBe(1)
})

test('log verify accepts an honest log that grew since its last run', async () => {
  const log = createTestLog()
  await log.grow(honest)
  const { url } = await serveTestLog(() => log)
  const args = ['log', 'verify', '--vkey', logVkey, '--state', join(tempFolder(), 'checkpoint')]
  const verify = async () => await runCommand(args, { LEDGER_URL: url }, { fetch, clock: logClock })
  expect((await verify()).code).toBe(0)
  await log.grow(later)
  expect((await verify()).code).toBe(0)
})
