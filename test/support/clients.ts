/** Clients that cost their process so little that the times of their answers are those of the service. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { PIPELINED_PER_CONNECTION } from '../../src/http/connections.ts'
import { openConnection } from './keep-alive.ts'
import type { Answer, Connection } from './keep-alive.ts'
import { percentile } from './percentile.ts'
import type { Address } from './raw-http.ts'

export type Timed = Pick<Answer, 'status' | 'tookMs'>
interface SendOptions {
  readonly clients: number
  readonly over?: AbortSignal
}
type ByKind<Value> = Readonly<Record<string, readonly Value[]>>

/** Sends a request of each kind every `everyMs`, whether or not earlier ones are answered. */
export async function sendSteadily(
  address: Address,
  requests: ByKind<string>,
  { everyMs, over }: { readonly everyMs: number; readonly over: AbortSignal },
): Promise<ByKind<Timed>> {
  const kinds = Object.entries(requests)
  const answers: Record<string, Timed[]> = {}
  const idle: Connection[] = []
  const sent: Promise<void>[] = []
  for (let at = 0; !over.aborted; at += 1) {
    for (const [kind, texts] of kinds) {
      const one = async (): Promise<void> => {
        const client = idle.pop() ?? (await openConnection(address))
        const { status, tookMs } = await client.send(texts[at % texts.length] ?? '')
        ;(answers[kind] ??= []).push({ status, tookMs })
        idle.push(client)
      }
      sent.push(one())
      // Apart, so that they do not wait for each other.
      await sleep(everyMs / kinds.length)
    }
  }
  await Promise.all(sent)
  for (const { close } of idle) close()
  return answers
}

/** Each connection sends its next request after an answer and the gap, or after a second if it was refused. */
export async function sendQueue(
  connections: readonly Connection[],
  requests: Iterable<string>,
  { over, gapMs = 0 }: { readonly over: AbortSignal; readonly gapMs?: number },
): Promise<readonly Timed[]> {
  const answers: Timed[] = []
  const waiting = requests[Symbol.iterator]()
  const client = async ({ send }: Connection): Promise<void> => {
    for (let next = waiting.next(); next.done !== true && !over.aborted; next = waiting.next()) {
      const { status, tookMs } = await send(next.value)
      answers.push({ status, tookMs })
      if (status === 429 || status === 503) await sleep(1000)
      else if (gapMs > 0) await sleep(gapMs)
    }
  }
  await Promise.all(connections.map(client))
  return answers
}

/** Sends requests over new connections, each with one at a time. */
export async function sendAll(
  addresses: readonly Address[],
  requests: Iterable<string>,
  { clients, over = new AbortController().signal }: SendOptions,
): Promise<readonly Timed[]> {
  const share = Math.ceil(clients / addresses.length)
  const opened = await Promise.all(addresses.map((address) => openConnections(address, share)))
  const answers = await sendQueue(opened.flat(), requests, { over })
  for (const { close } of opened.flat()) close()
  return answers
}

/** Keeps sending a request over two connections without waiting for answers, and opens those again that are closed. */
export async function sendPipelined(
  address: Address,
  request: string,
  over: AbortSignal,
): Promise<readonly Timed[]> {
  const answers: Timed[] = []
  const client = async (): Promise<void> => {
    while (!over.aborted) {
      const socket = connect({ ...address, noDelay: true })
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.on('error', () => undefined)
      socket.on('data', (chunk: Buffer) => {
        for (const [, status] of chunk.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          answers.push({ status: Number(status), tookMs: 0 })
        }
      })
      while (!socket.destroyed && !over.aborted) {
        socket.write(request.repeat(PIPELINED_PER_CONNECTION - 1))
        await sleep(5)
      }
      socket.destroy()
      await closed
    }
  }
  await Promise.all([client(), client()])
  return answers
}

export async function openConnections(address: Address, count: number): Promise<Connection[]> {
  return await Promise.all(Array.from({ length: count }, () => openConnection(address)))
}

export function p99Of(answers: readonly Timed[] = []): number {
  return percentile(
    answers.map(({ tookMs }) => tookMs),
    0.99,
  )
}
