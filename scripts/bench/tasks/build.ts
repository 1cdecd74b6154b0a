/** `<database> <state> <now>`: a full build, one without changes, and one after each of thirty new receipts. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Transaction } from 'kysely'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build } from '../../../builder/jobs/build.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { railAdapters } from '../../../builder/rails/index.ts'
import { createHistory } from '../../../builder/world/history.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { version } from '../../../src/contract/version.ts'
import { median } from '../../../src/core/median.ts'
import { hourMs, minuteMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { Database } from '../../../src/db/schema.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { quietLog } from '../../../test/support/quiet-log.ts'
import { timed } from '../processes.ts'

const [url = '', stateDir = '', now] = process.argv.slice(2)
const nowMs = Number(now)
const receipts = 30
const late = 10

const check = () => Promise.resolve()
const dataDir = join(packageRoot, 'data')
const database = await openDatabase({ url })
const active = signingKeyFromSeed(Buffer.alloc(32, 7))
const options = {
  database,
  history: createHistory(database.reader),
  dataDir,
  adapters: railAdapters,
  site: {
    url: 'https://ledger.test',
    serviceName: 'agent-income-ledger',
    version,
    historyUrl: null,
    payments: { settlement: 'off', receiver: null },
  },
  pollEveryMs: 6 * hourMs,
  exchangeKeys: () => Promise.resolve({ active, retired: [] }),
  assetsDir: null,
  log: quietLog,
  keys: await loadKeys({ dir: join(stateDir, 'keys'), nowMs }),
  stateDir,
  store: createDirectory({ publicDir: join(stateDir, 'public'), fence: 1, check }),
  check,
  memory: emptyBuildMemory({ dataDir }),
  repository: { remote: null, env: process.env, check: 'quick' },
  lastVersion: () => Promise.resolve(0),
} as const
const buildAfter = (minutes: number) =>
  timed(() => build({ ...options, nowMs: nowMs + minutes * minuteMs }))

const full = await buildAfter(0)
const peakMb = process.resourceUsage().maxRSS / 1024
const unchanged = await buildAfter(1)
const builds: (typeof full)[] = []
for (let receipt = 1; receipt <= receipts; receipt += 1) {
  await database.write(addReceipt)
  builds.push(await buildAfter(1 + receipt))
}
await database.close()
const warm = builds.slice(-late)
const changed = warm.at(-1)?.result.published.changed ?? []
writeFileSync(join(stateDir, 'changed.json'), JSON.stringify(changed))
process.send?.({
  fullCpuMs: full.cpuMs,
  fullMs: full.ms,
  peakMb,
  unchangedCpuMs: unchanged.cpuMs,
  receiptCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
  receiptMs: median(warm.map(({ ms }) => ms)),
})
process.disconnect()

async function addReceipt(tx: Transaction<Database>): Promise<void> {
  await sql`
    insert into receipts (id, kind, rail, from_wallet, from_display, to_wallet, to_display, amount_micro_usdc,
      asset_symbol, occurred_at, summary, platform, submitter, content, verification, onchain, accepted_at)
    select 'rcp_' || lower(hex(randomblob(32))), kind, rail, from_wallet, from_display, to_wallet, to_display,
      amount_micro_usdc, asset_symbol, occurred_at, summary, platform, submitter, content, verification, 'none',
      accepted_at
    from receipts order by seq desc limit 1`.execute(tx)
}
