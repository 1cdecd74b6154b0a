/** Probes an empty server on the same machine: its latency and rate measure the machine. */
import { setTimeout as sleep } from 'node:timers/promises'

const PROBE_EVERY_MS = 50
const BURST_CLIENTS = 8

export interface Burst {
  readonly fromMs: number
  readonly toMs: number
  readonly answered: number
}

export interface Asked {
  readonly probes: { readonly atMs: number; readonly tookMs: number }[]
  readonly bursts: Burst[]
}

/** Probes until aborted, with regular bursts of a fiftieth of the interval. */
export async function askAlong(
  url: string,
  asked: Asked,
  everyMs: number,
  over: AbortSignal,
): Promise<void> {
  const ask = async () => await (await fetch(url)).text()
  let burstMs = performance.now()
  while (!over.aborted) {
    const fromMs = performance.now()
    await ask()
    const atMs = performance.now()
    asked.probes.push({ atMs, tookMs: atMs - fromMs })
    if (atMs >= burstMs) {
      asked.bursts.push(await burst(ask, everyMs / 50))
      burstMs = atMs + everyMs
    }
    await sleep(PROBE_EVERY_MS)
  }
}

async function burst(ask: () => Promise<unknown>, durationMs: number): Promise<Burst> {
  const fromMs = performance.now()
  let answered = 0
  const client = async () => {
    while (performance.now() - fromMs < durationMs) {
      await ask()
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: BURST_CLIENTS }, client))
  return { fromMs, toMs: performance.now(), answered }
}

export function burstRate(bursts: readonly Burst[]): number {
  const sum = (of: (one: Burst) => number) => bursts.reduce((total, one) => total + of(one), 0)
  return (sum(({ answered }) => answered) / sum(({ fromMs, toMs }) => toMs - fromMs)) * 1000
}
