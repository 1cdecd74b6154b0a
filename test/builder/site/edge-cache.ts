/**
 * Computes the expected load on an origin behind caches, document by document. Reads are independent (Poisson) and
 * spread evenly over the documents of a kind and the points of presence, which is the worst case: it causes the most misses. Eviction and
 * change of a copy are independent events.
 */

export interface ReadKind {
  /** Fraction of all reads, 0 to 1. */
  readonly share: number
  /** Number of documents of this kind, each read equally often. */
  readonly documents: number
  /** Compressed with brotli. */
  readonly bodyBytes: number
  readonly maxAgeSeconds: number
  /** Number of changes of one document. */
  readonly changesPerDay: number
}

export interface EdgeCache {
  readonly points: number
  /** An additional cache between the points and the origin, whose copies the points pass on with their `Age`. */
  readonly hasShield: boolean
  /** A copy that was not read for this long is evicted. */
  readonly keepsSeconds: number
  /** Size of the headers of one response, including its status line. */
  readonly headerBytes: number
}

const daySeconds = 86_400

/** Totals of one day; all but `reads` are expected values. */
export function edgeDay(readsPerDay: number, kinds: readonly ReadKind[], edge: EdgeCache) {
  const days = kinds.map((kind) => kindDay(readsPerDay * kind.share, kind, edge))
  const sum = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((total, day) => total + of(day), 0)
  const reads = sum((day) => day.reads)
  return {
    reads,
    hitShare: sum((day) => day.hitShare * day.reads) / reads,
    edgeBytes: sum((day) => day.edgeBytes),
    originRequests: sum((day) => day.originRequests),
    originBytes: sum((day) => day.originBytes),
  }
}

function kindDay(reads: number, kind: ReadKind, edge: EdgeCache) {
  const { documents, bodyBytes, maxAgeSeconds, changesPerDay } = kind
  const { points, hasShield, headerBytes } = edge
  const perSecond = reads / documents / daySeconds
  const perPoint = perSecond / points
  // Caches that request from the origin: the shield alone, or every point.
  const caches = hasShield ? 1 : points
  const rate = hasShield ? perSecond : perPoint
  const fetches = caches * missesPerSecond(rate, maxAgeSeconds) * documents * daySeconds
  // Unchanged while the copy was fresh and until the next read.
  const changes = changesPerDay / daySeconds
  const isSame = Math.exp(-changes * maxAgeSeconds) * (rate / (rate + changes))
  const isKept = 1 - Math.exp(-rate * edge.keepsSeconds)
  // One point fetches first; each other point that is read while the copy is fresh fetches once.
  const perCycle = 1 + (points - 1) * (1 - Math.exp(-perPoint * maxAgeSeconds))
  const misses = hasShield ? fetches * perCycle : fetches
  return {
    reads,
    /** Fraction of reads served by a point of presence. */
    hitShare: 1 - misses / reads,
    edgeBytes: reads * (headerBytes + bodyBytes),
    originRequests: fetches,
    originBytes: fetches * (headerBytes + (1 - isSame * isKept) * bodyBytes),
  }
}

/** After each miss follow `maxAgeSeconds` without one; the next read after that misses again. */
function missesPerSecond(readsPerSecond: number, maxAgeSeconds: number): number {
  return readsPerSecond / (1 + readsPerSecond * maxAgeSeconds)
}
