/** A request to one replica; null if it gives no answer. */
import { request } from 'node:http'

import { z } from 'zod'

import type { Answer, Call } from '../simulation/http-call.ts'

const patienceMs = 8000
const anyBody = z.record(z.string(), z.unknown())

export async function ask(port: number, call: Call): Promise<Answer | null> {
  const { method, path, raw, address } = call
  const headers = {
    Connection: 'close',
    'X-Forwarded-For': address,
    ...(raw === ''
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(raw) }),
    ...call.headers,
  }
  return await new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false })
    const timer = setTimeout(() => sent.destroy(new Error('too slow')), patienceMs)
    const end = (answer: Answer | null): void => {
      clearTimeout(timer)
      resolve(answer)
    }
    sent.on('error', () => end(null))
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => end(null))
      response.on('end', () => {
        if (!response.complete) return end(null)
        const head = response.rawHeaders.join('\r\n')
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
        return end({ status: response.statusCode ?? 0, body: anyBody.parse(body), head })
      })
    })
    sent.end(raw)
  })
}

export async function get(port: number, path: string): Promise<Answer | null> {
  return await ask(port, { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' })
}
