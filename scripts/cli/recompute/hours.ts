/** Compares published aggregates with the lines of all polls of their window. */
import { z } from 'zod'

import { createHours, hourLines } from '../../../builder/rails/hours-of-lines.ts'
import { hoursWithin, payoutHourBody } from '../../../builder/rails/payout-hour.ts'
import { newestPayout } from '../../../builder/rails/payouts.ts'
import type { StreamValues } from '../../../builder/rails/streams.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import type { Window } from '../../../builder/rails/window.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { keysIn, publishedLines, readingsOf } from './evidence.ts'
import type { Bundles, EvidenceReader, PublishedReading } from './evidence.ts'
import type { Recomputation, Report } from './report.ts'

const publishedStream = z.object({
  buckets: z.array(payoutHourBody.extend({ hour: z.int() })),
  lastPayoutAtMs: z.number().nullable(),
})
type PublishedStream = z.infer<typeof publishedStream>

export async function compareHours(
  { bundles, evidence, report }: Recomputation,
  streams: StreamValues<string>,
  published: unknown,
): Promise<void> {
  const window = windowEndingAt(Date.parse(bundles[0].at))
  const hours = createHours(streams)
  let [lines, missing] = [0, 0]
  const readings = readingsOf(bundles)
  if (readings.some(({ bundle }) => bundle.v < 2)) {
    report.open('aggregates', 'an older version published lines without their times and no keys')
    return
  }
  for (const { input, bundle } of readings) {
    const found = await publishedLines(input, evidence)
    if (found === null) missing += 1
    else if (sha256Hex(found.join('\n')) !== input.rows_digest || found.length !== input.count)
      report.check('lines', false, '', `${input.rows} differs from rows_digest or count`)
    hours.add(input, found ?? [], bundle.prices)
    lines += found?.length ?? 0
  }
  const [problem] = hours.problems()
  const right = `${lines} lines of ${readings.length} readings have the right amounts`
  report.check('lines', problem === undefined, right, `${problem?.line}: ${problem?.problem}`)
  await compareLists(bundles, readings, evidence, report)
  const [newest, older] = hours.covered()
  if (newest !== undefined)
    report.check(
      'blocks',
      older === undefined,
      `${newest.from} to ${newest.to} were read without a gap`,
      `${(older?.to ?? 0) + 1} to ${newest.from - 1} were not read`,
    )
  if (missing > 0) report.open('aggregates', `the lines of ${missing} readings are not published`)
  else {
    const all = z.record(z.string(), publishedStream).parse(published)
    for (const [stream] of entriesOf(streams)) {
      const derived = hours.hours(stream)
      const newestMs = newestPayout(derived)
      const { buckets = [], lastPayoutAtMs: lastMs = null } = all[stream] ?? {}
      // A last payout before the window has no lines.
      const isOld = newestMs === null && lastMs !== null && lastMs < window.start30dMs
      report.compare(
        `aggregates of ${stream}`,
        linesWithin({ buckets, lastPayoutAtMs: lastMs }, window),
        linesWithin({ buckets: [...derived], lastPayoutAtMs: isOld ? lastMs : newestMs }, window),
      )
    }
  }
}

/** Readings have the lists of their poll; the keys in its memory were remembered by earlier readings. */
async function compareLists(
  bundles: Bundles,
  readings: readonly PublishedReading[],
  evidence: EvidenceReader,
  report: Report,
): Promise<void> {
  const known = new Set<string>()
  for (const { input, bundle } of readings) {
    for (const key of keysIn(await evidence.value(input.remembered))) known.add(key)
    const other = Object.keys(input.lists).find((name) => input.lists[name] !== bundle.lists[name])
    if (other === undefined) continue
    const what = `list ${other} of the reading at ${input.at}`
    if (input.at === bundle.at) report.check(what, false, 'differs from the one of its poll')
    else if (other !== 'memory') report.open(what, 'an earlier part of the poll had another one')
  }
  const oldest = readings.at(-1)?.input.lists['memory']
  for (const key of keysIn(await evidence.value(oldest))) known.add(key)
  const memory = keysIn(await evidence.value(bundles[0].lists['memory']))
  const unknown = memory.find((key) => !known.has(key))
  if (unknown !== undefined)
    report.check('list memory', false, `no reading remembered ${JSON.stringify(unknown)}`)
}

function linesWithin(
  { buckets, lastPayoutAtMs }: PublishedStream,
  { start30dMs, endMs }: Window,
): readonly string[] {
  return [...hourLines(hoursWithin(buckets, start30dMs, endMs)), `last payout ${lastPayoutAtMs}`]
}
