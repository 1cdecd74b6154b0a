import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

import { startNodeServer } from './processes.ts'
import type { ServerProcess } from './processes.ts'

export interface TimedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly ms: number
}

export interface RawRequestLine {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Requests over one keep-alive connection. `fetch` alone takes longer than some answers. */
export function createRequester() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    request: async ({ url, headers = {} }: RawRequestLine): Promise<TimedAnswer> => {
      const startedMs = performance.now()
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(url, { agent, headers }, resolve).on('error', reject)
      })
      const body = await buffer(response)
      const ms = performance.now() - startedMs
      const status = response.statusCode ?? 0
      if (status !== 200 && status !== 304) throw new Error(`${url} was answered with ${status}`)
      return { status, headers: response.headers, rawHeaders: response.rawHeaders, body, ms }
    },
    close: () => agent.destroy(),
  }
}

const addedByNode = new Set(['date', 'connection', 'keep-alive'])

/** Starts a server that gives the same status, headers and bytes for each request target. */
export async function startRawServer(
  answersFile: string,
  answers: ReadonlyMap<string, TimedAnswer>,
): Promise<ServerProcess> {
  const json = [...answers].map(([target, { status, rawHeaders, body }]) => ({
    target,
    status,
    headers: rawHeaders.filter(
      (_, at) => !addedByNode.has((rawHeaders[at - (at % 2)] ?? '').toLowerCase()),
    ),
    body: body.toString('base64'),
  }))
  writeFileSync(answersFile, JSON.stringify(json))
  const script = new URL('./peers/raw-http.js', import.meta.url)
  const readyPath = json.find(({ status }) => status === 200)?.target ?? '/'
  return await startNodeServer(script, { args: [answersFile], readyPath })
}
