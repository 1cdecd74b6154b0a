import type { Kysely } from 'kysely'
import type { z } from 'zod'

import type { inFlightPact, recordedPact, settledPact } from '../../src/contract/schemas/pact.ts'
import { explorerUrl } from '../../src/core/chains.ts'
import { present } from '../../src/core/entries.ts'
import { toUsdc } from '../../src/core/money.ts'
import { grouped } from '../../src/core/number-text.ts'
import { decidePacts } from '../../src/core/pact/decide.ts'
import type {
  InFlightDecision,
  RecordedDecision,
  SettledDecision,
} from '../../src/core/pact/decide.ts'
import { pactAmount, pactEscrow } from '../../src/core/pact/escrow.ts'
import type { PactOnChain, PublishedPact } from '../../src/core/pact/sources.ts'
import { isoTime } from '../../src/core/time.ts'
import { checksumAddress } from '../../src/core/wallet.ts'
import { escrowReading, pactsOnChain, verifiedPactReceipts } from '../../src/db/pacts.ts'
import type { Database } from '../../src/db/schema.ts'
import type { AuthoredPacts } from './authored-pacts.ts'
import { manifestUris, recipeOf } from './pact-recipe.ts'

type Settled = z.infer<typeof settledPact>
type InFlight = z.infer<typeof inFlightPact>
type Recorded = z.infer<typeof recordedPact>

export type PactsWorld = Awaited<ReturnType<typeof gatherPacts>>

export const escrowKey = pactEscrow.address.toLowerCase()

export async function decisionsOf(
  db: Kysely<Database>,
  { manifests, published }: AuthoredPacts,
  nowMs: number,
) {
  const reading = await escrowReading(db, escrowKey)
  const onChain = await pactsOnChain(db)
  const receipts = await verifiedPactReceipts(db)
  const sources = { nowMs, reading, onChain, manifests, receipts, published }
  return { decisions: decidePacts(sources), onChain, reading }
}

/** `siteUrl` has no slash at the end. */
export async function gatherPacts(
  db: Kysely<Database>,
  authored: AuthoredPacts,
  at: { readonly siteUrl: string; readonly nowMs: number },
) {
  const { decisions, onChain, reading } = await decisionsOf(db, authored, at.nowMs)
  const { siteUrl } = at
  return {
    settled: decisions.settled.map(settledView),
    inFlight: decisions.inFlight.map((one) => inFlightView(one, siteUrl)),
    recorded: decisions.recorded.map((one) => {
      return recordedView(one, escrowView(onChain.get(one.pactId)))
    }),
    /** Why an escrow without facts may still have them; null if it was read completely. */
    unread:
      reading === null
        ? 'not read'
        : reading.caughtUp
          ? null
          : `not read beyond block ${grouped(String(reading.toBlock))}`,
    /** Logs of the escrow by `pact_id`, oldest first. */
    events: new Map([...onChain].map(([pactId, { events }]) => [String(pactId), events])),
    /** The state of the escrow by `pact_id`, where a node was asked. */
    escrow: new Map(
      [...onChain].flatMap(([pactId, seen]) => {
        const view = escrowView(seen)
        return view === null ? [] : [[String(pactId), view] as const]
      }),
    ),
    /** Contradictions between the sources by `pact_id`, in words. */
    disagreements: new Map(
      [...decisions.disagreements].map(([pactId, found]) => [
        String(pactId),
        found.map(({ between, text }) => {
          return `${between}${between.includes(' and ') ? ' disagree' : ''}: ${text}`
        }),
      ]),
    ),
    manifests: authored.manifests,
    reproduceScript: authored.reproduceScript,
  }
}

function idsOf(pactId: number) {
  return { pact_id: String(pactId), job_id: `pact-${pactId}` }
}

function settledView({ pactId, receipt, manifests, witnesses }: SettledDecision): Settled {
  return {
    ...idsOf(pactId),
    state: 'settled',
    chain: receipt.chain,
    tx_hash: receipt.txHash,
    ...present({ explorer_url: explorerUrl(receipt.chain, receipt.txHash) }),
    receipt_id: receipt.receiptId,
    amount_usdc: toUsdc(receipt.amountMicroUsdc),
    payer: shownWallet(receipt.payer.display),
    worker: receipt.worker.display,
    block_number: receipt.block,
    settled_at: isoTime(receipt.settledAtMs),
    ...(manifests === null ? {} : { title: manifests.title }),
    confirmed_by: [...witnesses],
  }
}

function shownWallet(wallet: string): string {
  return /^0x[0-9a-f]{40}$/.test(wallet) ? checksumAddress(wallet) : wallet
}

function inFlightView(decision: InFlightDecision, siteUrl: string): InFlight {
  const { pactId, manifests, phase, witnesses } = decision
  const { workHash, notes } = manifests.checked
  return {
    ...idsOf(pactId),
    state: 'in_flight',
    title: manifests.title,
    ...manifestUris(siteUrl, pactId),
    phase_status: phase.status,
    phase_blocker: phase.blocker,
    next_action: phase.nextAction,
    verifier_recipe: recipeOf(siteUrl, pactId, workHash),
    work_hash: workHash,
    ...(notes.length === 0 ? {} : { manifest_notes: [...notes] }),
    updated_at: isoTime(phase.sinceMs),
    confirmed_by: [...witnesses],
  }
}

function recordedView(
  { pactId, published, verdict }: RecordedDecision,
  escrow: ReturnType<typeof escrowView>,
): Recorded {
  const record: Recorded = {
    ...idsOf(pactId),
    state: 'recorded',
    title: published?.title ?? `Pact ${pactId}`,
    verification: verdict.verification,
    confirmed: [...verdict.confirmed],
    contradictions: [...verdict.contradictions],
    chain: pactEscrow.chain,
    contract: checksumAddress((published?.contract ?? pactEscrow.address).toLowerCase()),
    source:
      published === null
        ? { kind: 'escrow', name: 'Logs and getPact of the escrow contract' }
        : {
            kind: 'publication',
            name: published.source,
            noted_on: published.notedOn,
            ...(published.sourceUrl === null ? {} : { url: published.sourceUrl }),
          },
  }
  if (published !== null) record.published = claimsView(published)
  if (escrow !== null) record.escrow = escrow
  return record
}

function claimsView({ publishedAs, claims }: PublishedPact): NonNullable<Recorded['published']> {
  const { worker, approve_tx: approveTx } = claims
  return {
    as: publishedAs,
    ...claims,
    ...(worker === undefined ? {} : { worker: checksumAddress(worker) }),
    ...present({ explorer_url: approveTx && explorerUrl(pactEscrow.chain, approveTx) }),
  }
}

function escrowView(onChain: PactOnChain | undefined): NonNullable<Recorded['escrow']> | null {
  const state = onChain?.state ?? null
  const last = onChain?.events.at(-1)
  if (state === null || last === undefined) return null
  return {
    status: state.status,
    creator: checksumAddress(state.creator),
    recipient: checksumAddress(state.recipient),
    amount_pact: pactAmount(state.amount),
    deadline: isoTime(state.deadlineMs),
    work_hash: state.workHash,
    last_event: last.kind,
    tx_hash: last.txHash,
    block_number: last.block,
    at: isoTime(last.atMs),
    ...present({ explorer_url: explorerUrl(pactEscrow.chain, last.txHash) }),
  }
}
