/** Determines the standing of disputes from the wallets that each rail names on its site. */
import { z } from 'zod'

import { mapConcurrent } from '../../src/core/concurrency.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { dayMs, isoTime, secondMs } from '../../src/core/time.ts'
import { walletOrNull } from '../../src/core/wallet.ts'
import type { DisputeRecord } from '../../src/db/disputes.ts'
import { selectRecords, updateRecord } from '../../src/db/records.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { BuilderDeps } from './run-job.ts'

export const wellKnownPath = '/.well-known/agent-income-ledger.json'
const wellKnown = z.object({ wallets: z.array(z.string().max(64)).max(1000) })
const limits = { timeoutMs: 5 * secondMs, maxAnswerBytes: 64 * 1024 }
/** A rail that cannot be read for this long counts as naming no wallet. */
const patienceMs = dayMs
const atOnce = 4

export type StandingDeps = Omit<BuilderDeps, 'random' | 'log' | 'fetch'>

/** Returns the number of disputes whose standing was determined. */
export async function readStandings(
  deps: StandingDeps,
  rails: readonly { readonly rail: string; readonly reference_url: string }[],
): Promise<number> {
  const { database, clock } = deps
  const waiting = await selectRecords(database.reader, 'disputes', { standing: 'unknown' })
    .orderBy('seq')
    .limit(1000)
    .execute()
  const byRail = groupBy(waiting, ({ rail }) => rail ?? '')
  const addresses = new Map(rails.map(({ rail, reference_url: url }) => [rail, url]))
  let decided = 0
  await mapConcurrent([...byRail], atOnce, async ([rail, disputes]) => {
    const named = await readNamed(deps, addresses.get(rail))
    const before = isoTime(clock.now() - patienceMs)
    for (const { id, wallet, openedAt } of disputes) {
      if (named === null && openedAt > before) continue
      const standing: DisputeRecord['standing'] = named?.has(wallet) === true ? 'subject' : 'anyone'
      await database.write((tx) => updateRecord(tx, 'disputes', { id }, { standing }))
      decided += 1
    }
  })
  return decided
}

/** The ids of the wallets; null if the rail could not be read. */
async function readNamed(
  { send, userAgent, signal }: StandingDeps,
  address: string | undefined,
): Promise<ReadonlySet<string> | null> {
  if (address === undefined || !URL.canParse(address)) return new Set()
  const url = `https://${new URL(address).hostname}${wellKnownPath}`
  const headers = { Accept: 'application/json', 'User-Agent': userAgent }
  try {
    const answer = await send({ url, method: 'GET', headers, body: '' }, { ...limits, signal })
    if (answer.status === 429 || answer.status >= 500) return null
    return new Set(answer.status === 200 ? walletsIn(answer.body) : [])
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return error.fault === 'refused_url' || error.fault === 'too_large' ? new Set() : null
  }
}

function walletsIn(body: Buffer | null): readonly string[] {
  try {
    const { wallets } = wellKnown.parse(JSON.parse(body?.toString('utf8') ?? ''))
    return wallets.flatMap((text) => walletOrNull(text)?.id ?? [])
  } catch {
    return []
  }
}
