/**
 * A closed loop without an HTTP client: each connection sends its next request when the answer to the
 * last has arrived whole. Every answer of a run has the same length, which the first one tells.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface LoadOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly durationMs: number
  /** A file in Lua that makes each request; `wrk` alone takes it. */
  readonly script?: string
}

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export async function socketLoad(options: LoadOptions): Promise<LoadResult> {
  const url = new URL(options.url)
  const fields = { Host: url.host, ...options.headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `GET ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n`
  const startedMs = performance.now()
  const endMs = startedMs + options.durationMs
  const latenciesMs: number[] = []
  const loops = Array.from({ length: options.connections }, async () =>
    loop(Number(url.port), url.hostname, request, endMs, latenciesMs),
  )
  await Promise.all(loops)
  const elapsedMs = performance.now() - startedMs
  latenciesMs.sort((left, right) => left - right)
  const at = (share: number): number =>
    latenciesMs[Math.floor(latenciesMs.length * share)] ?? Number.NaN
  return {
    requestsPerSecond: (latenciesMs.length / elapsedMs) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

async function loop(
  port: number,
  host: string,
  request: string,
  endMs: number,
  latenciesMs: number[],
): Promise<void> {
  const socket = connect(port, host)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  let answerLength = 0
  let received = 0
  let sentMs = performance.now()
  const done = new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed the connection')))
    socket.on('data', (chunk) => {
      if (answerLength === 0) answerLength = lengthOf(chunk)
      received += chunk.length
      if (received < answerLength) return
      received = 0
      const nowMs = performance.now()
      latenciesMs.push(nowMs - sentMs)
      if (nowMs >= endMs) {
        resolve()
        return
      }
      sentMs = nowMs
      socket.write(request)
    })
  })
  socket.write(request)
  await done
  socket.removeAllListeners('close')
  socket.destroy()
}

function lengthOf(first: Buffer): number {
  const head = first.subarray(0, first.indexOf('\r\n\r\n') + 4).toString('latin1')
  const status = Number(head.split(' ')[1])
  if (status !== 200 && status !== 304) throw new Error(`answered ${status} under load`)
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  return head.length + (status === 304 ? 0 : Number(length))
}
