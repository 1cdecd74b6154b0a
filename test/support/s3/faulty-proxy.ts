/** A proxy of an S3 server that refuses, slows down, cuts, loses or repeats requests. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { AwsClient } from 'aws4fetch'
import { onTestFinished } from 'vitest'

import { startLocalServer } from '../local-server.ts'
import { credentials } from './gateway.ts'

/**
 * `refused`: 500, and the server sees nothing. `lost`: the server does the work, and the connection ends without an
 * answer. `unconditional`: the server does not see conditions. `cut`: the server receives half of the body; `changed`: one byte differs. `twice`: the server does the work twice. `silent`: no answer.
 */
export type Fault =
  | 'refused'
  | 'lost'
  | 'cut'
  | 'changed'
  | 'slow'
  | 'twice'
  | 'silent'
  | 'unconditional'

export interface ProxiedRequest {
  readonly method: string
  /** Without bucket and prefix. */
  readonly key: string
}

export interface FaultyProxy {
  readonly endpoint: string
  readonly requests: readonly ProxiedRequest[]
  /** Replaces the faults of later requests; the first ones have none. A request waits for its fault. */
  readonly fail: (faultOf: FaultOf) => void
}

type FaultOf = (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>

const slowMs = 300

/** Runs for the running test. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const requests: ProxiedRequest[] = []
  let faultOf: FaultOf = () => undefined

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming
    const body = Buffer.concat(await incoming.toArray())
    const seen = { method, key: url.replace(/^\/[^/]*\/(?:ledger\/)?/, '') }
    requests.push(seen)
    const fault = await faultOf(seen)
    const sent =
      fault === 'unconditional' ? await withoutConditions(target + url, incoming) : headers
    const send = (bytes: Buffer) => forward(target + url, { method, headers: sent, body: bytes })
    if (fault === 'silent') return
    if (fault === 'refused') {
      response.writeHead(500).end('<Error><Code>InternalError</Code></Error>')
      return
    }
    if (fault === 'cut') {
      await forward(target + url, { method, headers, body, length: body.length >> 1 }).catch(
        () => 0,
      )
      response.destroy()
      return
    }
    if (fault === 'slow') await sleep(slowMs)
    if (fault === 'twice') await send(body)
    const answer = await send(fault === 'changed' ? flipped(body) : body)
    if (fault === 'lost') {
      response.destroy()
      return
    }
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const server = await startLocalServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  onTestFinished(server.stop)
  return { endpoint: server.url, requests, fail: (next) => void (faultOf = next) }
}

interface Forwarded {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Number of bytes that are sent before the connection ends. */
  readonly length?: number
}

/** The signature covers the `Host` of the client. */
async function forward(url: string, { method, headers, body, length }: Forwarded) {
  const sent = request(url, { method, headers })
  if (length !== undefined) {
    sent.write(body.subarray(0, length), () => sent.destroy())
    await once(sent, 'close')
    throw new Error('cut')
  }
  sent.end(body)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve).once('error', reject)
  })
  const bytes = Buffer.concat(await answer.toArray())
  return { status: answer.statusCode ?? 502, headers: answer.headers, body: bytes }
}

function flipped(body: Buffer): Buffer {
  const changed = Buffer.from(body)
  if (changed.length > 0) changed[0] = (changed[0] ?? 0) ^ 1
  return changed
}

/** The signature covers the conditions, so the request is signed again. */
async function withoutConditions(url: string, { method = '', headers }: IncomingMessage) {
  const client = new AwsClient({ ...credentials, service: 's3', region: 'us-east-1' })
  const md5 = headers['content-md5']?.toString()
  const kept = md5 === undefined ? {} : { 'content-md5': md5 }
  const signed = await client.sign(url, { method, headers: kept })
  return { ...Object.fromEntries(signed.headers), 'content-length': headers['content-length'] }
}
