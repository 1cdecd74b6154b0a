export interface LaneItem {
  readonly id: string
  /** Parties take turns: the next item belongs to the party that has waited longest. */
  readonly party: string
  /** Limits the running items with the share `key` to `limit`. */
  readonly shares: readonly { readonly key: string; readonly limit: number }[]
}

/** Runs each item until `work`, which never rejects, returns false. No item runs twice at the same time. */
export function createFairLanes<Item extends LaneItem>(
  lanes: number,
  work: (item: Item) => Promise<boolean>,
) {
  let waiting = new Map<string, Item>()
  const running = new Map<string, Promise<void>>()
  const used = new Map<string, number>()
  const turns = new Map<string, number>()
  let turn = 0

  const fits = ({ id, shares }: Item): boolean =>
    !running.has(id) && shares.every(({ key, limit }) => (used.get(key) ?? 0) < limit)

  function occupy({ shares }: Item, change: 1 | -1): void {
    for (const { key } of shares) {
      const left = (used.get(key) ?? 0) + change
      if (left === 0) used.delete(key)
      else used.set(key, left)
    }
  }

  function next(): Item | null {
    let best: Item | null = null
    const turnOf = ({ party }: Item) => turns.get(party) ?? 0
    for (const item of waiting.values()) {
      if ((best === null || turnOf(item) < turnOf(best)) && fits(item)) best = item
    }
    return best
  }

  async function run(item: Item): Promise<void> {
    const hasMore = await work(item)
    occupy(item, -1)
    running.delete(item.id)
    if (hasMore && !waiting.has(item.id)) waiting.set(item.id, item)
    start()
  }

  function start(): void {
    while (running.size < lanes) {
      const item = next()
      if (item === null) return
      waiting.delete(item.id)
      turn += 1
      turns.set(item.party, turn)
      occupy(item, 1)
      running.set(item.id, run(item))
    }
  }

  return {
    /** Replaces the waiting items, and starts those that fit. */
    offer: (items: readonly Item[]): void => {
      waiting = new Map(items.map((item) => [item.id, item]))
      const parties = new Set(items.map(({ party }) => party))
      for (const party of turns.keys()) if (!parties.has(party)) turns.delete(party)
      start()
    },
    /** Resolves when nothing runs, or at the end of an item after the signal. */
    idle: async (signal?: AbortSignal): Promise<void> => {
      while (running.size > 0) {
        await Promise.race(running.values())
        if (signal?.aborted === true) return
      }
    },
  }
}
