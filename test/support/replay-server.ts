/** A local server for recorded answers (`test/fixtures/rails/<rail>/*.json`), which can fail in named ways. */
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { startLocalServer } from './local-server.ts'

/**
 * The modes of the first row change the body (by the `edits` of a fixture; `nul` changes every string). The modes of the
 * second row change how the server answers.
 */
export const replayModes = [
  ...(['normal', 'empty', 'absurd', 'negative', 'nul'] as const),
  ...(['slow', 'redirect', 'time-out', '500', 'html', 'truncated', 'huge'] as const),
] as const
export type ReplayMode = (typeof replayModes)[number]

const edit = z.tuple([z.array(z.union([z.string(), z.number()])), z.unknown()])

const fixtureShape = z.strictObject({
  recorded: z.boolean(),
  origin: z.string().min(10),
  licence: z.string().min(3),
  /** What the recorded answer lacks. */
  trimmed: z.string().optional(),
  request: z.strictObject({
    method: z.enum(['GET', 'POST']),
    path: z.string().startsWith('/'),
    body: z.unknown().optional(),
  }),
  answer: z.strictObject({ status: z.int(), body: z.unknown() }),
  /** Values to set at paths of the answer; an empty path is the whole body. */
  edits: z.partialRecord(z.enum(['empty', 'absurd', 'negative']), z.array(edit)).optional(),
})
type Fixture = z.output<typeof fixtureShape>

export interface ReplayRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface ReplayServer {
  readonly url: string
  readonly requests: readonly ReplayRequest[]
  /** Requests without a fixture, which get a 404. */
  readonly unmatched: readonly string[]
  readonly setMode: (mode: ReplayMode) => void
  readonly close: () => Promise<void>
}

export function fixturesOf(rail: string): Fixture[] {
  const folder = new URL(`../fixtures/rails/${rail}/`, import.meta.url)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => fixtureShape.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))))
}

export function startReplayServer(...rails: readonly string[]): Promise<ReplayServer> {
  const fixtures = rails.flatMap(fixturesOf)
  return startAnswering((request, mode) => {
    const fixture = fixtures.find(
      ({ request: { method, path, body } }) =>
        method === request.method && path === request.path && isDeepStrictEqual(body, request.body),
    )
    return fixture === undefined ? undefined : { body: bodyIn(mode, fixture) }
  })
}

/** Serves the results of `answer` as JSON; undefined is a 404. */
export async function startAnswering(
  answer: (request: ReplayRequest, mode: ReplayMode) => { readonly body: unknown } | undefined,
): Promise<ReplayServer> {
  const requests: ReplayRequest[] = []
  const unmatched: string[] = []
  const mode: { now: ReplayMode } = { now: 'normal' }
  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message)
    requests.push(request)
    if (mode.now === 'redirect' && !(message.url ?? '').startsWith(movedTo)) {
      response.writeHead(307, { location: `${movedTo}${message.url ?? ''}` }).end()
      return
    }
    const found = answer(request, mode.now)
    if (found === undefined) {
      unmatched.push(`${request.method} ${request.path}`)
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
      return
    }
    await respond(response, mode.now, JSON.stringify(found.body))
  }

  const { url, stop } = await startLocalServer((message, response) => {
    void serve(message, response)
  })
  return {
    url,
    requests,
    unmatched,
    setMode: (next) => {
      mode.now = next
    },
    close: stop,
  }
}

const movedTo = '/moved'

async function readRequest(message: IncomingMessage): Promise<ReplayRequest> {
  const body = await text(message)
  const url = message.url ?? ''
  return {
    method: message.method ?? '',
    path: url.startsWith(movedTo) ? url.slice(movedTo.length) : url,
    headers: message.headers,
    body: body === '' ? undefined : (JSON.parse(body) as unknown),
  }
}

async function respond(response: ServerResponse, mode: ReplayMode, json: string): Promise<void> {
  if (mode === 'time-out') return
  const status = mode === '500' ? 500 : 200
  const type = mode === 'html' ? 'text/html' : 'application/json; charset=utf-8'
  response.writeHead(status, { 'content-type': type })
  if (mode === 'huge') {
    Readable.from(endless()).on('error', ignore).pipe(response).on('error', ignore)
    return
  }
  if (mode === 'slow') {
    const part = Math.ceil(json.length / 4)
    for (let at = 0; at < 4; at += 1) {
      response.write(json.slice(at * part, (at + 1) * part))
      await setTimeout(2)
    }
    response.end()
    return
  }
  response.end(bodies[mode] ?? (mode === 'truncated' ? json.slice(0, json.length / 2) : json))
}

const bodies: Partial<Record<ReplayMode, string>> = {
  '500': '{"error":"Internal Server Error"}',
  html: '<!doctype html><title>Just a moment</title>',
}

function* endless(): Generator<string> {
  yield '["'
  for (;;) yield 'a'.repeat(65_536)
}

const ignore = (): void => undefined

function bodyIn(mode: ReplayMode, { answer, edits }: Fixture): unknown {
  if (mode === 'nul') return withNul(answer.body)
  if (mode !== 'empty' && mode !== 'absurd' && mode !== 'negative') return answer.body
  return (edits?.[mode] ?? []).reduce<unknown>(
    (body, [path, value]) => setAt(body, path, value),
    answer.body,
  )
}

/** Puts a NUL in the middle of every string, as real sources have done. */
export function withNul(value: unknown): unknown {
  if (typeof value === 'string') {
    const half = Math.ceil(value.length / 2)
    return `${value.slice(0, half)}\0${value.slice(half)}`
  }
  if (Array.isArray(value)) return value.map(withNul)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNul(inner)]))
}

function setAt(body: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (Array.isArray(body)) {
    return body.map((inner: unknown, at) => (at === step ? setAt(inner, rest, value) : inner))
  }
  if (typeof body !== 'object' || body === null || !(step in body)) {
    throw new Error(`the answer has nothing at ${String(step)}`)
  }
  return Object.fromEntries(
    Object.entries(body).map(([key, inner]) => [
      key,
      key === String(step) ? setAt(inner, rest, value) : inner,
    ]),
  )
}
