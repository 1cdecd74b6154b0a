import { entriesOf } from '../entries.ts'
import { groupBy } from '../group-by.ts'
import { manifestAgainstEscrow, receiptAgainstEscrow, replays } from './disagreements.ts'
import type { Disagreement } from './disagreements.ts'
import { phaseOf } from './phase.ts'
import type { Phase } from './phase.ts'
import { judgePublished } from './published.ts'
import type { PublishedVerdict } from './published.ts'
import type {
  PactManifests,
  PactOnChain,
  PactReceipt,
  PactSources,
  PublishedPact,
} from './sources.ts'

export type PactWitness = 'receipt' | 'escrow' | 'manifest'

export interface SettledDecision {
  readonly pactId: number
  readonly receipt: PactReceipt
  readonly manifests: PactManifests | null
  readonly witnesses: readonly PactWitness[]
}

export interface InFlightDecision {
  readonly pactId: number
  readonly manifests: PactManifests
  readonly phase: Phase
  readonly witnesses: readonly PactWitness[]
}

/** A pact without a manifest and without a verified receipt in this ledger. */
export interface RecordedDecision {
  readonly pactId: number
  readonly published: PublishedPact | null
  readonly verdict: PublishedVerdict
}

/** Logs confirm nothing until the state has been read. */
function byTheEscrow(seen: PactOnChain | null): PublishedVerdict {
  const isRead = (seen?.state ?? null) !== null
  return {
    verification: isRead ? 'confirmed' : 'unverified',
    confirmed: isRead ? ['status'] : [],
    contradictions: [],
  }
}

export function decidePacts(sources: PactSources) {
  const { onChain, reading } = sources
  const repeated = replays(onChain)
  const manifestsOf = new Map(sources.manifests.map((one) => [one.pactId, one]))
  const publishedOf = new Map(sources.published.map((one) => [one.pactId, one]))
  const receiptsOf = groupBy(sources.receipts, ({ pactId }) => pactId)
  const ids = new Set(
    [manifestsOf, publishedOf, receiptsOf, onChain].flatMap((known) => [...known.keys()]),
  )
  const settled: SettledDecision[] = []
  const inFlight: InFlightDecision[] = []
  const recorded: RecordedDecision[] = []
  const disagreements = new Map<number, readonly Disagreement[]>()
  for (const pactId of [...ids].sort((a, b) => a - b)) {
    const seen = onChain.get(pactId) ?? null
    const manifests = manifestsOf.get(pactId) ?? null
    const published = publishedOf.get(pactId) ?? null
    const { receipt, problems } = settlingReceipt(receiptsOf.get(pactId) ?? [], seen, sources)
    const repeat = repeated.get(pactId)
    const found = [
      ...(manifests === null ? [] : manifestAgainstEscrow(manifests, seen)),
      ...problems,
      ...(repeat === undefined ? [] : [repeat]),
    ]
    const witnesses = witnessesOf(receipt, seen, manifests)
    const verdict =
      published === null ? byTheEscrow(seen) : judgePublished(published, seen, reading)
    if (receipt !== null) {
      settled.push({ pactId, receipt, manifests, witnesses })
    } else if (manifests !== null) {
      const facts = { nowMs: sources.nowMs, manifests, onChain: seen, reading }
      // Anyone can pay their own wallet and name this job id.
      const disagreements = found.filter(({ byStranger }) => byStranger !== true)
      const phase = phaseOf({ ...facts, disagreements })
      inFlight.push({ pactId, manifests, phase, witnesses })
    } else if (published !== null || seen !== null) {
      recorded.push({ pactId, published, verdict })
    }
    const contradicted = verdict.contradictions.map((text): Disagreement => ({
      between: 'publication and escrow',
      text,
    }))
    const all = [...found, ...contradicted]
    if (all.length > 0) disagreements.set(pactId, all)
  }
  return { settled, inFlight, recorded, disagreements }
}

function settlingReceipt(
  receipts: readonly PactReceipt[],
  onChain: PactOnChain | null,
  { reading }: PactSources,
): { readonly receipt: PactReceipt | null; readonly problems: readonly Disagreement[] } {
  const problems: Disagreement[] = []
  let receipt: PactReceipt | null = null
  const inOrder = receipts.toSorted(
    (a, b) => a.block - b.block || (a.receiptId < b.receiptId ? -1 : 1),
  )
  for (const one of inOrder) {
    const verdict = receiptAgainstEscrow(one, onChain, reading)
    if (verdict.kind === 'disagrees') problems.push(verdict.problem)
    if (verdict.kind === 'settles') receipt ??= one
  }
  return { receipt, problems }
}

function witnessesOf(
  receipt: PactReceipt | null,
  onChain: PactOnChain | null,
  manifests: PactManifests | null,
): readonly PactWitness[] {
  const all = { receipt, escrow: onChain?.state ?? null, manifest: manifests }
  return entriesOf(all).flatMap(([name, witness]) => (witness === null ? [] : [name]))
}
