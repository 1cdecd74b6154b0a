/** `<dir>`: builds the site of a large world, then again after one receipt was rejected. */
import { join } from 'node:path'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { emptyMemory, publish } from '../../../builder/publish/publish.ts'
import { createSite } from '../../../builder/site/site-documents.ts'
import { gatherWorld } from '../../../builder/world/gather.ts'
import { createHistory } from '../../../builder/world/history.ts'
import type { PollRecord, World } from '../../../builder/world/world.ts'
import { hourMs, isoTime } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { buildSettings, silentLog } from '../build-settings.ts'
import { report, textArgument, timed } from '../task.ts'

const ofEach = 334
const pollsPerRail = 360
const nowMs = Date.UTC(2026, 10, 21, 6)

const dir = textArgument(0)
const { signer, ring, publicKeys } = await loadKeys({ dir: join(dir, 'keys'), nowMs })
const world = enlarged(await authoredWorld())
const [first, ...others] = world.community.receipts
if (first === undefined) throw new Error('the world has no receipt')
const rejected = { ...first, verification: 'rejected', verification_reason: 'Why.' } as const
const changed = { ...world, community: { ...world.community, receipts: [rejected, ...others] } }

const memory = emptyMemory()
const siteOf = createSite()
const publishSite = (of: World) =>
  timed(async () => {
    const [publicDir, documents] = [join(dir, 'public'), siteOf(of, [])]
    const output = { publicDir, assetsDir: null, log: silentLog, memory }
    return await publish({ ...output, documents, signer, ring, nowMs })
  })
const full = await publishSite(world)
const one = await publishSite(changed)
const { documents } = full.result.manifest
report({
  pages: documents.filter((document) => document.content_type.startsWith('text/html')).length,
  fullMs: full.ms,
  fullCpuMs: full.cpuMs,
  oneMs: one.ms,
  oneCpuMs: one.cpuMs,
  changed: one.result.changed.join(' '),
})

async function authoredWorld(): Promise<World> {
  const database = await openDatabase({ url: join(dir, 'ledger.db') })
  try {
    return await gatherWorld({
      ...buildSettings,
      database,
      history: createHistory(database.reader),
      dataDir: join(packageRoot, 'data'),
      publicKeys,
      nowMs,
    })
  } finally {
    await database.close()
  }
}

/** Repeats the authored rails, each with ninety days of polls, and adds workers with one receipt each. */
function enlarged(base: World): World {
  const numbers = Array.from({ length: ofEach }, (_, at) => at)
  const rails = numbers.flatMap((at) => {
    const record = base.rails[at % base.rails.length]
    if (record === undefined) return []
    const rail = `${record.authored.rail}-${at}`
    return [{ ...record, authored: { ...record.authored, rail }, state: { ...record.state, rail } }]
  })
  const polls = Array.from({ length: pollsPerRail }, (_, at) => pollOf(at))
  return {
    ...base,
    rails,
    history: new Map(rails.map(({ authored }) => [authored.rail, polls])),
    community: {
      ...base.community,
      workers: numbers.map((at) => ({
        wallet: hexOf(at),
        display_name: `Worker ${at}`,
        skills: ['api-reference-writing'],
        registered_at: isoTime(nowMs - at * hourMs),
        updated_at: isoTime(nowMs - at * hourMs),
      })),
      workersTotal: ofEach,
      receipts: numbers.map((at) => ({
        receipt_id: `rcp_${hexOf(at)}`,
        rail: rails[at]?.authored.rail ?? '',
        to_wallet: hexOf(at),
        amount_usdc: at + 0.5,
        asset_symbol: 'USDC',
        occurred_at: isoTime(nowMs - at * hourMs),
        summary: `Work ${at}`,
        kind: 'platform',
        platform: 'example_board',
        verification: 'verified',
        onchain_verified: false,
        accepted_at: isoTime(nowMs - at * hourMs),
        url: `https://ledger.test/api/v1/receipts/rcp_${hexOf(at)}`,
      })),
      receiptsTotal: ofEach,
      receiptsVerified: ofEach,
    },
  }
}

function pollOf(at: number): PollRecord {
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
  }
}

function hexOf(at: number): string {
  return at.toString(16).padStart(64, '0')
}
