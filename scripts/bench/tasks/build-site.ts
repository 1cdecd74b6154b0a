import { join } from 'node:path'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { emptyMemory, publish } from '../../../builder/publish/publish.ts'
import { createSite } from '../../../builder/site/site-documents.ts'
import { gatherWorld } from '../../../builder/world/gather.ts'
import type { World } from '../../../builder/world/world.ts'
import { nowMs, openPolledLedger } from '../polled-ledger.ts'
import { timed } from '../task.ts'

const ofEach = 334
const pollsPerRail = 360

/** Builds the site of a world in memory, then again after one receipt was rejected. */
export async function run(ledgerDir: string, home: string) {
  const { assetsDir, log, ...ledger } = await openPolledLedger(ledgerDir)
  const keys = await loadKeys({ dir: join(ledgerDir, 'keys'), nowMs })
  const { signer, ring, publicKeys } = keys
  const world = enlarged(await gatherWorld({ ...ledger, publicKeys, nowMs }))
  await ledger.database.close()
  const [first, ...others] = world.community.receipts
  if (first === undefined) throw new Error('the world has no receipt')
  const rejected = { ...first, verification: 'rejected', verification_reason: 'Why.' } as const
  const changed = { ...world, community: { ...world.community, receipts: [rejected, ...others] } }

  const output = { publicDir: join(home, 'public'), assetsDir, log, memory: emptyMemory() }
  const siteOf = createSite()
  const publishSite = (of: World) =>
    timed(() => publish({ ...output, documents: siteOf(of, []), signer, ring, nowMs }))
  const full = await publishSite(world)
  const one = await publishSite(changed)
  const { documents } = full.result.manifest
  return {
    pages: documents.filter((document) => document.content_type.startsWith('text/html')).length,
    fullMs: full.ms,
    fullCpuMs: full.cpuMs,
    oneMs: one.ms,
    oneCpuMs: one.cpuMs,
    changed: one.result.changed.join(' '),
  }
}

/** Repeats rails, workers and receipts under other names. */
function enlarged(base: World): World {
  const { community, history } = base
  const rails = repeated(base.rails, (record, name) => ({
    ...record,
    authored: { ...record.authored, rail: `${record.authored.rail}-${name}` },
    state: { ...record.state, rail: `${record.state.rail}-${name}` },
  }))
  const polls = repeated([...history.values()], (list) => list.slice(0, pollsPerRail))
  return {
    ...base,
    rails,
    history: new Map(rails.map(({ authored }, at) => [authored.rail, polls[at] ?? []])),
    community: {
      ...community,
      workers: repeated(community.workers, (worker, wallet) => ({ ...worker, wallet })),
      receipts: repeated(community.receipts, (receipt, name) => ({
        ...receipt,
        receipt_id: `rcp_${name}`,
      })),
    },
  }
}

function repeated<Item>(items: readonly Item[], rename: (item: Item, name: string) => Item) {
  const enough = Array.from({ length: Math.ceil(ofEach / items.length) }, () => items).flat()
  return enough.slice(0, ofEach).map((item, at) => rename(item, at.toString(16).padStart(64, '0')))
}
