/** HTTP over plain sockets that stay open: an HTTP client would take much of the CPU time of a machine under load. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

import type { Address } from './raw-http.ts'

export interface Answer {
  /** 0 if the connection ended without an answer. */
  readonly status: number
  readonly tookMs: number
  /** Head and body, one character a byte. */
  readonly text: string
}

export type Connection = Awaited<ReturnType<typeof openConnection>>

/** A connection with one request at a time, opened again if the server has closed it. */
export async function openConnection({ host, port }: Address, localAddress?: string) {
  const open = async (): Promise<Socket> => {
    const socket = connect({ host, port, localAddress, noDelay: true })
    await once(socket, 'connect')
    socket.on('error', () => undefined)
    return socket.setEncoding('latin1').resume()
  }
  let socket = await open()
  return {
    send: async (request: string | Buffer): Promise<Answer> => {
      if (socket.destroyed) socket = await open()
      const startMs = performance.now()
      const text = await answerOver(socket, request)
      return { status: Number(text.slice(9, 12)), tookMs: performance.now() - startMs, text }
    },
    close: () => socket.destroy(),
  }
}

/** The answer must have a Content-Length. Resolves with an empty text if the connection ends before. */
function answerOver(socket: Socket, request: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    let length = -1
    const end = (answer: string) => {
      socket.off('data', take).off('close', lose)
      resolve(answer)
    }
    const lose = () => end('')
    const take = (chunk: string) => {
      text += chunk
      const bodyAt = length < 0 ? text.indexOf('\r\n\r\n') + 4 : 4
      if (bodyAt < 4) return
      if (length < 0)
        length = bodyAt + Number(headerOf(text.slice(0, bodyAt), 'content-length') ?? 0)
      if (text.length >= length) end(text)
    }
    socket.on('data', take).on('close', lose)
    socket.write(request)
  })
}

/** @param name in lower case */
export function headerOf(text: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\\r$`, 'im').exec(text)?.[1]
}

interface WrittenRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Makes it a POST. */
  readonly body?: string
}

export function requestText({ path, headers = {}, body }: WrittenRequest): string {
  const ofBody = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body ?? '')),
  }
  const fields = { Host: 'ledger.test', ...headers, ...(body === undefined ? {} : ofBody) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const method = body === undefined ? 'GET' : 'POST'
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}
