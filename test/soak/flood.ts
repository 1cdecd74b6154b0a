/** Posts receipts over plain sockets: an HTTP client would use too much CPU. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { boardReceipt } from '../e2e/board.ts'
import { nearWallet } from '../support/wallets.ts'

export interface Answer {
  readonly status: number
  readonly tookMs: number
  readonly retryAfter: string | undefined
  readonly receiptId: string | undefined
}

export interface Flood {
  readonly answers: readonly Answer[]
  /** Number of answers before the end of the flood; later answers belong to requests in flight. */
  readonly inTime: number
  readonly tookMs: number
}

const wallets = Array.from({ length: 500 }, (_, at) => nearWallet(`flood ${at}`))

/** By default each wallet has its own network. */
export async function postOf(at: number, network?: string): Promise<string> {
  const wallet = at % wallets.length
  const raw = await boardReceipt(at, 0, wallets[wallet])
  return [
    'POST /api/v1/receipts HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(raw)}`,
    `X-Forwarded-For: ${network ?? `100.64.${wallet >> 8}.${wallet & 255}`}`,
    '',
    raw,
  ].join('\r\n')
}

export interface Connection {
  /** @throws Error if nothing listens at the address */
  readonly send: (request: string) => Promise<Answer>
  readonly close: () => void
}

export async function openConnections(url: string, count: number): Promise<Connection[]> {
  return await Promise.all(Array.from({ length: count }, async () => await openConnection(url)))
}

async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const open = async () => {
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    // The service may close an idle connection.
    socket.resume()
    socket.on('error', () => socket.destroy())
    return socket
  }
  let socket = await open()
  return {
    close: () => socket.destroy(),
    send: async (request) => {
      let startMs = 0
      let answer = ''
      // Repeats the request if the service closes the idle connection at that moment.
      while (answer === '') {
        if (socket.destroyed) socket = await open()
        startMs = performance.now()
        answer = await answerOver(socket, request)
      }
      return {
        status: Number(answer.slice(9, 12)),
        tookMs: performance.now() - startMs,
        retryAfter: headerOf(answer, 'retry-after'),
        receiptId: /"receipt_id":"(rcp_[0-9a-f]{64})"/.exec(answer)?.[1],
      }
    },
  }
}

/** Returns an empty text if the connection ends before the answer. */
async function answerOver(socket: Socket, request: string): Promise<string> {
  return await new Promise((resolve) => {
    let text = ''
    const end = (answer: string) => {
      socket.off('data', take)
      socket.off('close', lose)
      resolve(answer)
    }
    const lose = () => end('')
    const take = (chunk: string) => {
      text += chunk
      const bodyAt = text.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4) return
      const length = Number(headerOf(text.slice(0, bodyAt), 'content-length'))
      if (text.length >= bodyAt + length) end(text)
    }
    socket.on('data', take)
    socket.on('close', lose)
    socket.write(request)
  })
}

function headerOf(text: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\\r$`, 'im').exec(text)?.[1]
}

/** Each connection sends its next request after an answer; refused requests are sent again. */
export async function post(
  connections: readonly Connection[],
  requests: string[],
  isOver: (answers: readonly Answer[], passedMs: number) => boolean,
): Promise<Flood> {
  const startMs = performance.now()
  const answers: Answer[] = []
  let inTime: number | null = null
  const client = async (connection: Connection) => {
    for (;;) {
      if (inTime === null && isOver(answers, performance.now() - startMs)) inTime = answers.length
      const request = inTime === null ? requests.pop() : undefined
      if (request === undefined) return
      const answer = await connection.send(request)
      answers.push(answer)
      if (answer.receiptId === undefined) requests.unshift(request)
    }
  }
  await Promise.all(connections.map(client))
  return { answers, inTime: inTime ?? answers.length, tookMs: performance.now() - startMs }
}
