/** HTTP over plain sockets, which costs this process so little that the times are those of the service. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { entriesOf } from '../../src/core/entries.ts'
import { PIPELINED_PER_CONNECTION } from '../../src/http/connections.ts'
import type { Address } from '../support/raw-http.ts'

export interface Asked {
  readonly path: string
  /** The address that the trusted proxy names. */
  readonly from: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly tookMs: number
}

type Client = Awaited<ReturnType<typeof openClient>>

/** A connection that stays open and has one request at a time. */
export async function openClient(address: Address, localAddress = '127.0.0.1') {
  const socket = connect({ ...address, localAddress, noDelay: true })
  await once(socket, 'connect')
  let head = ''
  let missing = -1
  let end: (status: number) => void = () => undefined
  const settle = (): void => {
    const status = Number(head.slice(9, 12))
    head = ''
    missing = -1
    end(status)
  }
  socket.on('data', (chunk: Buffer) => {
    if (missing < 0) {
      head += chunk.toString('latin1')
      const headEnd = head.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      missing = headEnd + 4 + length - head.length
    } else missing -= chunk.length
    if (missing <= 0) settle()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => end(0))
  return {
    socket,
    /** Status 0: the connection ended without an answer. */
    ask: async ({ path, from, body, headers = {} }: Asked): Promise<Answer> => {
      const fields = { Host: 'ledger.test', 'X-Forwarded-For': from, ...headers }
      const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
      const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body ?? '')}\r\n`
      const startMs = performance.now()
      const answered = new Promise<number>((resolve) => {
        end = resolve
      })
      if (socket.destroyed) end(0)
      const [method, rest] = body === undefined ? ['GET', '\r\n'] : ['POST', `${type}\r\n${body}`]
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${rest}`)
      const status = await answered
      return { status, tookMs: performance.now() - startMs }
    },
  }
}

export type Kinds<Name extends string> = Readonly<Record<Name, (at: number) => Promise<Asked>>>

/** Sends a request of each kind every `everyMs`, whether or not earlier ones are answered. */
export async function askSteadily<Name extends string>(
  address: Address,
  kinds: Kinds<Name>,
  { durationMs, everyMs }: { readonly durationMs: number; readonly everyMs: number },
): Promise<ReadonlyMap<Name, readonly Answer[]>> {
  const named = entriesOf(kinds)
  const answers = new Map<Name, Answer[]>(named.map(([name]) => [name, []]))
  const idle: Client[] = []
  const sent: Promise<void>[] = []
  const untilMs = performance.now() + durationMs
  for (let at = 0; performance.now() < untilMs; at += 1) {
    const asked = await Promise.all(
      named.map(async ([name, make]) => [name, await make(at)] as const),
    )
    for (const [name, request] of asked) {
      const one = async (): Promise<void> => {
        const client = idle.pop() ?? (await openClient(address))
        answers.get(name)?.push(await client.ask(request))
        idle.push(client)
      }
      sent.push(one())
      // Apart, so that they do not wait for each other.
      await sleep(everyMs / named.length)
    }
  }
  await Promise.all(sent)
  for (const { socket } of idle) socket.destroy()
  return answers
}

/** Sends the requests as fast as the limits allow: a client that is refused waits for a second. */
export async function askToTheLimit(
  address: Address,
  requests: readonly Asked[],
  { durationMs, clients }: { readonly durationMs: number; readonly clients: number },
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  const untilMs = performance.now() + durationMs
  const waiting = requests.values()
  const run = async (): Promise<void> => {
    const client = await openClient(address)
    for (const request of waiting) {
      if (performance.now() > untilMs) break
      const answer = await client.ask(request)
      answers.push(answer)
      if (answer.status === 429 || answer.status === 503) await sleep(1000)
    }
    client.socket.destroy()
  }
  await Promise.all(Array.from({ length: clients }, run))
  return answers
}

/** Keeps sending over a few connections without waiting for answers, and opens those again that are closed. */
export async function askPipelined(
  address: Address,
  requests: readonly Asked[],
  { durationMs, clients }: { readonly durationMs: number; readonly clients: number },
): Promise<readonly number[]> {
  const [first] = requests
  if (first === undefined) return []
  const request = `GET ${first.path} HTTP/1.1\r\nHost: ledger.test\r\nX-Forwarded-For: ${first.from}\r\n\r\n`
  const untilMs = performance.now() + durationMs
  const statuses: number[] = []
  const run = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const socket = connect({ ...address, noDelay: true })
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.on('error', () => undefined)
      socket.on('data', (chunk: Buffer) => {
        const found = chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)
        statuses.push(...Array.from(found, ([, status]) => Number(status)))
      })
      while (!socket.destroyed && performance.now() < untilMs) {
        socket.write(request.repeat(PIPELINED_PER_CONNECTION - 1))
        await sleep(5)
      }
      socket.destroy()
      await closed
    }
  }
  await Promise.all(Array.from({ length: clients }, run))
  return statuses
}

export function p99Of(answers: readonly Answer[]): number {
  const times = answers.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other)
  return times[Math.ceil(times.length * 0.99) - 1] ?? NaN
}
