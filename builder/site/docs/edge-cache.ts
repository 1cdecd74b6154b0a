/**
 * What a cache in front leaves for the origin: the expectation for reads that come independently of each other (Poisson),
 * document by document; that a copy was forgotten and that it was changed count as independent. Reads spread evenly over documents of a kind and points of presence, which leaves
 * the most misses: any other spread has fewer.
 */

export interface ReadKind {
  /** Of all reads, 0 to 1. */
  readonly share: number
  /** Documents of the kind, read equally often. */
  readonly documents: number
  /** As sent to a reader that takes brotli. */
  readonly bodyBytes: number
  readonly maxAgeSeconds: number
  /** How often one of them gets new bytes. */
  readonly changesPerDay: number
}

export interface EdgeCache {
  readonly points: number
  /** One more cache between the points and the origin, whose copies the points pass on with their `Age`. */
  readonly hasShield: boolean
  /** What nobody has read for so long is forgotten, and fetched whole. */
  readonly keepsSeconds: number
  /** Of an answer, status line included. */
  readonly headerBytes: number
}

/** One day; all but `reads` are expectations. */
export interface EdgeDay {
  readonly reads: number
  /** Share of the reads that a point answered by itself. */
  readonly hitShare: number
  readonly edgeBytes: number
  readonly originRequests: number
  readonly originBytes: number
}

const daySeconds = 86_400

export function edgeDay(readsPerDay: number, kinds: readonly ReadKind[], edge: EdgeCache): EdgeDay {
  const days = kinds.map((kind) => kindDay(readsPerDay * kind.share, kind, edge))
  const sum = (of: (day: EdgeDay) => number) => days.reduce((total, day) => total + of(day), 0)
  const reads = sum((day) => day.reads)
  return {
    reads,
    hitShare: reads === 0 ? 0 : sum((day) => day.hitShare * day.reads) / reads,
    edgeBytes: sum((day) => day.edgeBytes),
    originRequests: sum((day) => day.originRequests),
    originBytes: sum((day) => day.originBytes),
  }
}

const nothing: EdgeDay = { reads: 0, hitShare: 0, edgeBytes: 0, originRequests: 0, originBytes: 0 }

function kindDay(reads: number, kind: ReadKind, edge: EdgeCache): EdgeDay {
  if (reads === 0) return nothing
  const { documents, bodyBytes, maxAgeSeconds, changesPerDay } = kind
  const { points, hasShield, headerBytes } = edge
  const perSecond = reads / documents / daySeconds
  const perPoint = perSecond / points
  // The cache that asks the origin: the shield, which all reads of a document come down to, or each point.
  const caches = hasShield ? 1 : points
  const rate = hasShield ? perSecond : perPoint
  const fetches = caches * missesPerSecond(rate, maxAgeSeconds) * documents * daySeconds
  // No change while the copy was fresh, nor in the wait for the read after it.
  const changes = changesPerDay / daySeconds
  const isSame = Math.exp(-changes * maxAgeSeconds) * (rate / (rate + changes))
  const isKept = 1 - Math.exp(-rate * edge.keepsSeconds)
  // A copy opens the shield's cycle at one point; each other point with a read before it is old asks once.
  const perCycle = 1 + (points - 1) * (1 - Math.exp(-perPoint * maxAgeSeconds))
  const misses = hasShield ? fetches * perCycle : fetches
  return {
    reads,
    hitShare: 1 - misses / reads,
    edgeBytes: reads * (headerBytes + bodyBytes),
    originRequests: fetches,
    originBytes: fetches * (headerBytes + (1 - isSame * isKept) * bodyBytes),
  }
}

/** A miss begins a time of `maxAgeSeconds` without one, and the next read after it is the next miss. */
function missesPerSecond(readsPerSecond: number, maxAgeSeconds: number): number {
  return readsPerSecond / (1 + readsPerSecond * maxAgeSeconds)
}
