/** A world whose site has a thousand pages and more: a third each of rails, workers and receipts. */
import { join } from 'node:path'

import type { PublicKeys } from '../../../builder/publish/keys.ts'
import { railAdapters } from '../../../builder/rails/index.ts'
import { gatherWorld } from '../../../builder/world/gather.ts'
import { createHistory } from '../../../builder/world/history.ts'
import type { PollRecord, World } from '../../../builder/world/world.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { version } from '../../../src/contract/version.ts'
import { hourMs, isoTime } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'

export const ofEach = 334
const polls = 360
export const nowMs = Date.UTC(2026, 10, 21, 6)

/** The authored rails over and over, each with ninety days of polls; workers with one receipt each. */
export async function largeWorld(dir: string, publicKeys: PublicKeys): Promise<World> {
  const base = await authoredWorld(dir, publicKeys)
  const numbers = Array.from({ length: ofEach }, (_, at) => at)
  const history = pollsOfNinetyDays()
  const rails = numbers.flatMap((at) => {
    const record = base.rails[at % base.rails.length]
    if (record === undefined) return []
    const rail = `${record.authored.rail}-${at}`
    return [{ ...record, authored: { ...record.authored, rail }, state: { ...record.state, rail } }]
  })
  const community: World['community'] = {
    ...base.community,
    workers: numbers.map((at) => ({
      wallet: hex(at),
      display_name: `Worker ${at}`,
      skills: ['api-reference-writing'],
      registered_at: isoTime(nowMs - at * hourMs),
      updated_at: isoTime(nowMs - at * hourMs),
    })),
    workersTotal: ofEach,
    receipts: numbers.map((at) => ({
      receipt_id: `rcp_${hex(at)}`,
      rail: rails[at]?.authored.rail ?? '',
      to_wallet: hex(at),
      amount_usdc: at + 0.5,
      asset_symbol: 'USDC',
      occurred_at: isoTime(nowMs - at * hourMs),
      summary: `Work ${at}`,
      kind: 'platform',
      platform: 'example_board',
      verification: 'verified',
      onchain_verified: false,
      accepted_at: isoTime(nowMs - at * hourMs),
      url: `https://ledger.test/api/v1/receipts/rcp_${hex(at)}`,
    })),
    receiptsTotal: ofEach,
    receiptsVerified: ofEach,
  }
  return {
    ...base,
    rails,
    history: new Map(rails.map(({ authored }) => [authored.rail, history])),
    community,
  }
}

/** The same with another word on one receipt. */
export function oneReceiptRejected(world: World): World {
  const [first, ...others] = world.community.receipts
  if (first === undefined) throw new Error('the world has no receipt')
  const rejected = { ...first, verification: 'rejected', verification_reason: 'Why.' } as const
  return { ...world, community: { ...world.community, receipts: [rejected, ...others] } }
}

async function authoredWorld(dir: string, publicKeys: PublicKeys): Promise<World> {
  const database = await openDatabase({ url: join(dir, 'ledger.db') })
  try {
    return await gatherWorld({
      database,
      history: createHistory(database.reader),
      dataDir: join(packageRoot, 'data'),
      adapters: railAdapters,
      site: {
        url: 'https://ledger.test',
        serviceName: 'agent-income-ledger',
        version,
        historyUrl: null,
        payments: { settlement: 'off', receiver: null },
      },
      pollEveryMs: 6 * hourMs,
      publicKeys,
      exchangeKeys: () =>
        Promise.resolve({ active: signingKeyFromSeed(Buffer.alloc(32, 7)), retired: [] }),
      nowMs,
    })
  } finally {
    await database.close()
  }
}

function pollsOfNinetyDays(): readonly PollRecord[] {
  return Array.from({ length: polls }, (_, at) => {
    const week = Math.round(2_400_000_000 * (1 + Math.sin(at / 23) / 3))
    return {
      polledAtMs: nowMs - at * 6 * hourMs,
      durationMs: 900,
      outcome: 'ok',
      error: null,
      figures: {
        tpv30dMicroUsdc: week * 4,
        tpv7dMicroUsdc: week,
        tpv30dRawMicroUsdc: week * 5,
        tpv7dRawMicroUsdc: Math.round(week * 1.4),
        uniqueCreators30d: 9,
        creatorsWithBudget30d: 7,
        uniqueWorkers30d: 12,
        topWorkerShare: 0.4,
        activity30d: 90,
        lastPayoutAtMs: nowMs - at * 6 * hourMs - hourMs,
      },
      status: 'paying',
      rule: 'bench v1',
    } satisfies PollRecord
  })
}

function hex(at: number): string {
  return at.toString(16).padStart(64, '0')
}
