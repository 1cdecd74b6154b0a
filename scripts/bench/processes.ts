/** Starts the measured programs, sends load to them, and reads what they use from `/proc` (Linux only). */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import { createCheckThreads } from '../../src/auth/check-threads.ts'
import { openDatabase } from '../../src/db/open.ts'
import { p99Of, sendAll } from '../../test/support/clients.ts'
import { requestText } from '../../test/support/keep-alive.ts'
import { cpuUsOf } from '../../test/support/process-samples.ts'
import { quietLog } from '../../test/support/quiet-log.ts'
import { programOf, startNodeServer } from '../../test/support/server-process.ts'
import type { ServerOptions, ServerProcess } from '../../test/support/server-process.ts'
import type { Bench, Sample } from './bench.ts'

export const databaseIn = (dir: string): string => join(dir, 'run/ledger.db')

/** Opens the database in this process. */
export async function openLedger(dir: string) {
  const database = await openDatabase({ url: databaseIn(dir) })
  return { ...database, stop: () => database.close() }
}

export async function startPeer(
  name: string,
  options: Partial<ServerOptions> = {},
): Promise<ServerProcess> {
  const program = programOf(`scripts/bench/peers/${name}.ts`)
  return await startNodeServer(program, { readyPath: '/healthz', ...options })
}

/** Returns how long a program takes. @throws Error unless it exits with 0 */
export async function runProgram(args: readonly string[]): Promise<{ readonly ms: number }> {
  return await timed(() => promisify(execFile)(process.execPath, args))
}

/** As the service starts it on two cores. */
export const oneCheckThread = () =>
  createCheckThreads(pathToFileURL(programOf('src/auth/check-worker.ts')), {
    cores: 2,
    log: quietLog,
  })

export async function timed<T>(work: () => Promise<T> | T) {
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 }
}

/** Sends the requests over connections that stay open, and measures without the first quarter. @throws Error for a refusal */
export async function load(
  servers: readonly ServerProcess[],
  requests: readonly string[],
  clients = 64,
): Promise<Sample> {
  const addresses = servers.map(({ address }) => address)
  const send = async (part: readonly string[]) => {
    const answers = await sendAll(addresses, part, { clients })
    const refused = answers.find(({ status }) => ![200, 201, 304].includes(status))
    if (refused !== undefined) throw new Error(`answered with ${refused.status}`)
    return answers
  }
  const cpuUs = () => servers.reduce((sum, { pid }) => sum + cpuUsOf(pid), 0)
  const warm = Math.floor(requests.length / 4)
  await send(requests.slice(0, warm))
  const before = cpuUs()
  const { result: answers, ms } = await timed(() => send(requests.slice(warm)))
  const perRequest = (cpuUs() - before) / answers.length
  return { cpuUs: perRequest, perSecond: (answers.length / ms) * 1000, p99Ms: p99Of(answers) }
}

/** Sends one request many times to the ledger, and to its peer if there is one. */
export function repeat(
  [server, peer]: readonly [ServerProcess, (readonly [name: string, ServerProcess])?],
  request: Parameters<typeof requestText>[0],
  count: number,
  clients?: number,
): Pick<Bench, 'ours' | 'peer'> {
  const requests = Array<string>(count).fill(requestText(request))
  const ours = () => load([server], requests, clients)
  if (peer === undefined) return { ours }
  return { ours, peer: [peer[0], () => load([peer[1]], requests, clients)] }
}
