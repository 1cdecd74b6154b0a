/** From the start of the process to its first answer, and its memory at rest, with a ledger of a million receipts. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { packageRoot } from '../../../src/runtime/runtime.ts'
import { cpuNs } from '../load.ts'
import { freePort, scriptPath } from '../processes.ts'
import { alongside, compare, interleave } from '../rounds.ts'
import { copyLedger, manyReceipts, workersCount } from '../start/ledger.ts'
import type { Suite } from '../suite.ts'

const LOOK_EVERY_MS = 2
const PATIENCE_MS = 120_000
const bytesPerMb = 2 ** 20
const peerName = 'empty Hono app'

interface Sample {
  readonly firstAnswerMs: number
  /** CPU time of the process until then; null where the system does not tell. */
  readonly cpuMs: number | null
  /** Resident, a while after the first answer. */
  readonly restMb: number
}

export const start: Suite = {
  about: 'start to first answer and memory at rest, with very many receipts',
  run: async ({ dir, quick, say, shared }) => {
    const receipts = manyReceipts(quick)
    const restMs = quick ? 1500 : 3000
    const databasePath = join(dir, 'run/ledger.db')
    say(`  the ledger of ${receipts} receipts is taken`)
    await copyLedger(shared, receipts, databasePath)
    const service = async (): Promise<Sample> =>
      await startOnce(
        [join(packageRoot, 'dist/src/main.js')],
        (port) => ({
          PORT: String(port),
          HOST: '127.0.0.1',
          DATA_DIR: join(dir, 'run'),
          PUBLIC_DIR: join(dir, 'public'),
          BUILDER: 'off',
          LOG_LEVEL: 'warn',
        }),
        restMs,
      )
    const hono = async (): Promise<Sample> =>
      await startOnce(
        [scriptPath(new URL('../start/hono-app.js', import.meta.url))],
        () => ({}),
        restMs,
        true,
      )
    await service()
    const samples = await interleave(
      [
        { name: 'service', measure: service },
        { name: peerName, measure: hono },
      ],
      quick ? 2 : 7,
    )
    const of = (name: string) => samples.get(name) ?? []
    const peerMs = of(peerName).map(({ firstAnswerMs }) => firstAnswerMs)
    const firstMs = of('service').map(({ firstAnswerMs }) => firstAnswerMs)
    const size = `${receipts.toLocaleString('en-US')} receipts`
    return {
      rows: [
        compare({
          what: `start to first answer, ${size}`,
          unit: 'ms',
          ours: firstMs,
          peerName,
          peer: peerMs,
          also: alongside(
            'cpu ms',
            of('service').map(({ cpuMs }) => cpuMs),
            of(peerName).map(({ cpuMs }) => cpuMs),
          ),
        }),
        compare({
          what: `start, ${size}, more than the peer`,
          unit: 'ms',
          ours: firstMs.map((ms, round) => ms - (peerMs[round] ?? Number.NaN)),
          peerName,
          peer: peerMs,
          target: { of: 'ours', atMost: 500 },
        }),
        compare({
          what: `memory at rest, ${size}`,
          unit: 'MB',
          ours: of('service').map(({ restMb }) => restMb),
          peerName,
          peer: of(peerName).map(({ restMb }) => restMb),
          target: { of: 'ours', atMost: 150 },
        }),
      ],
      skipped: [],
      facts: {
        receipts,
        workers: Math.min(receipts, workersCount),
        database_mb: Math.round(statSync(databasePath).size / bytesPerMb),
        node: process.version,
      },
    }
  },
}

async function startOnce(
  args: readonly string[],
  envOf: (port: number) => Readonly<Record<string, string>>,
  restMs: number,
  portIsArgument = false,
): Promise<Sample> {
  const port = await freePort()
  const startedMs = performance.now()
  const child = spawn(process.execPath, [...args, ...(portIsArgument ? [String(port)] : [])], {
    stdio: 'ignore',
    env: { ...process.env, ...envOf(port) },
  })
  try {
    const firstAnswerMs = (await firstAnswerAt(child, port, startedMs + PATIENCE_MS)) - startedMs
    const pid = child.pid ?? 0
    const ranNs = cpuNs([pid])
    await sleep(restMs)
    return { firstAnswerMs, cpuMs: ranNs === null ? null : ranNs / 1e6, restMb: residentMb(pid) }
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}

async function firstAnswerAt(child: ChildProcess, port: number, untilMs: number): Promise<number> {
  while (performance.now() < untilMs && child.exitCode === null) {
    if (await answers(port)) return performance.now()
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error('the process does not answer')
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { port, host: '127.0.0.1', path: '/healthz', agent: false }
    get(options, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    }).on('error', () => resolve(false))
  })
}

function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}
