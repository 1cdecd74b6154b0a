/** Servers that answer the same in turns under load. */
import { cpuNs } from '../load.ts'
import type { LoadGenerator } from '../load.ts'
import type { ServerProcess } from '../processes.ts'
import { alongside, compare, interleave } from '../rounds.ts'
import type { LoadOptions } from '../socket-load.ts'
import type { Row, Target } from '../suite.ts'

export const CONNECTIONS = 64

export interface Timing {
  readonly rounds: number
  readonly warmMs: number
  /** Anew before each measurement; otherwise once, where nobody stands idle for long. */
  readonly warmsEachRound: boolean
  readonly measureMs: number
}

export interface Sample {
  readonly requestsPerSecond: number
  readonly p99Ms: number
  readonly cpuUsPerRequest: number | null
  /** Part of a core, in per cent, that the server behind the one measured took meanwhile. */
  readonly behindPercent: number | null
}

/** What one server is asked for in one comparison. */
export interface Aim {
  readonly name: string
  readonly server: ServerProcess
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Who would be asked if this server had not the answer. */
  readonly behind?: ServerProcess
  /** What makes each request, for `wrk`. */
  readonly script?: string
}

interface Contest {
  readonly rows: readonly Row[]
  /** Ours. */
  readonly samples: readonly Sample[]
}

export interface Conditions {
  readonly load: LoadGenerator
  readonly timing: Timing
  /** A line for whoever is waiting. */
  readonly say: (line: string) => void
}

/** A row for each of the peers; `targets` are by the name of the peer. */
export async function contest(
  { load, timing, say }: Conditions,
  what: string,
  ours: Aim,
  peers: readonly Aim[],
  targets: Readonly<Record<string, Target>>,
): Promise<Contest> {
  say(`  ${what}`)
  const aims = [ours, ...peers]
  if (!timing.warmsEachRound) for (const aim of aims) await warm(load, timing, aim)
  const contestants = aims.map((aim) => ({
    name: aim.name,
    measure: async () => measure(load, timing, aim),
  }))
  const samples = await interleave(contestants, timing.rounds)
  const of = (name: string): readonly Sample[] => samples.get(name) ?? []
  const rows = peers.map((peer) => {
    const target = targets[peer.name]
    const also = (name: string, figure: (sample: Sample) => number | null) =>
      alongside(name, of(ours.name).map(figure), of(peer.name).map(figure))
    return compare({
      what,
      unit: 'req/s',
      ours: of(ours.name).map(({ requestsPerSecond }) => requestsPerSecond),
      peerName: peer.name,
      peer: of(peer.name).map(({ requestsPerSecond }) => requestsPerSecond),
      ...(target === undefined ? {} : { target }),
      also: {
        ...also('cpu us/req', ({ cpuUsPerRequest }) => cpuUsPerRequest),
        ...also('p99 ms', ({ p99Ms }) => p99Ms),
      },
    })
  })
  return { rows, samples: of(ours.name) }
}

/** A server that stood idle first finds its feet again. */
async function warm(load: LoadGenerator, { warmMs }: Timing, aim: Aim): Promise<void> {
  await load.run({ ...requestsOf(aim), durationMs: warmMs })
}

async function measure(load: LoadGenerator, timing: Timing, aim: Aim): Promise<Sample> {
  if (timing.warmsEachRound) await warm(load, timing, aim)
  const cpuOf = (server: ServerProcess | undefined): number | null =>
    server === undefined ? null : cpuNs(server.pids())
  const [before, behindBefore] = [cpuOf(aim.server), cpuOf(aim.behind)]
  const startedMs = performance.now()
  const result = await load.run({ ...requestsOf(aim), durationMs: timing.measureMs })
  const elapsedMs = performance.now() - startedMs
  const [after, behindAfter] = [cpuOf(aim.server), cpuOf(aim.behind)]
  const since = (from: number | null, to: number | null): number | null =>
    from === null || to === null ? null : to - from
  const [ranNs, behindNs] = [since(before, after), since(behindBefore, behindAfter)]
  const { requestsPerSecond, p99Ms } = result
  const requests = requestsPerSecond * (elapsedMs / 1000)
  return {
    requestsPerSecond,
    p99Ms,
    cpuUsPerRequest: ranNs === null ? null : ranNs / 1000 / requests,
    behindPercent: behindNs === null ? null : behindNs / 1e4 / elapsedMs,
  }
}

function requestsOf({ server, target, headers, script }: Aim): Omit<LoadOptions, 'durationMs'> {
  const url = `${server.origin}${target}`
  const ofScript = script === undefined ? {} : { script }
  return { url, headers, connections: CONNECTIONS, ...ofScript }
}
