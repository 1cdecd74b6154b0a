import { errorCodes } from '../../../src/contract/errors.ts'
import type { OpenApiValidator } from '../../support/openapi-validator.ts'
import type { RawAnswer } from '../../support/raw-http.ts'
import { readable } from './wire.ts'

export interface SentRequest {
  readonly method: string
  readonly bytes: Buffer
}

/** Traces of internals: stack frames, SQL, error messages of libraries, paths of files. */
const traces = [
  /\bat (?:async )?[\w.<>]+ \([^)]*:\d+:\d+\)/,
  /\b[\w./-]+\.[cm]?[jt]s:\d+/,
  /node_modules|node:internal/,
  /SQLITE_\w+|\bsqlite\b|no such (?:table|column)|UNIQUE constraint|FOREIGN KEY constraint/i,
  /\b(?:select|delete)\b.{1,80}\bfrom\b|\binsert into\b|\bupdate \w+ set\b/i,
  /\bE(?:NOENT|ACCES|CONNREFUSED|CONNRESET|PERM|MFILE|TIMEDOUT|AI_AGAIN|NOTFOUND)\b/,
  /(?:^|[\s"'(])\/(?:tmp|home|root|var|usr|etc|proc|opt|srv)\//,
  /\b(?:Type|Range|Reference|Syntax|Zod|Parameter|Canonical\w*|Assertion)Error\b/,
  /Cannot read propert|is not a function|is not iterable|undefined|\[object |NaN/,
] as const
const forbiddenHeaders = [
  'access-control-allow-credentials',
  'set-cookie',
  'server',
  'x-powered-by',
  'x-injected',
] as const
const errorMembers = ['error', 'code', 'details', 'docs', 'issues', 'accepts', 'x402Version']
const maxHeaderBytes = 8000

/** What every answer must be, whatever the request was. */
export function answerProblems(request: SentRequest, answer: RawAnswer): readonly string[] {
  const { status } = answer
  // Headers above the limit are refused before those of answers are known.
  const isEarly = status === 431 && request.bytes.indexOf('\r\n\r\n') > maxHeaderBytes
  return [
    ...(status >= 500 ? [`a fault of the service: ${status}`] : []),
    ...(isEarly ? [] : headerProblems(answer)),
    ...(status >= 400 ? errorProblems(answer, request) : []),
  ]
}

/** Problems of an answer to a request for a path, without its query. */
export function describedProblems(
  request: SentRequest & { readonly path: string },
  answer: RawAnswer,
  deps: { readonly api: OpenApiValidator; readonly secrets: readonly string[] },
): readonly string[] {
  const { method, path, bytes } = request
  const { status, headers } = answer
  const text = readable(answer)
  const whole = `${JSON.stringify([...headers])}\n${text}`
  const problems = [
    ...answerProblems(request, answer),
    ...deps.secrets.filter((secret) => whole.includes(secret)).map((secret) => `reveals ${secret}`),
  ]
  const type = headers.get('content-type') ?? ''
  if (isErrorPage(answer)) {
    if (!bytes.includes('text/html')) problems.push('a page in place of an error')
    // Only paths that are not of the API have a page for what does not exist.
    if (status === 404 && !path.startsWith('/api/')) return problems
  }
  if (status === 431 && bytes.indexOf('\r\n\r\n') > maxHeaderBytes) return problems
  if (deps.api.templateOf(path) === null) {
    if (![400, 404, 405].includes(status)) problems.push(`${status} for an undescribed path`)
  } else if (status !== 304 && method !== 'HEAD') {
    const body: unknown = type === 'application/json' ? parsed(text) : text
    problems.push(...deps.api.problems(path, status, type, body, method.toLowerCase()))
  }
  return problems
}

function headerProblems({ status, headers }: RawAnswer): readonly string[] {
  const problems = forbiddenHeaders.filter((name) => headers.has(name)).map((name) => `has ${name}`)
  const isBare = status === 304
  if (!isBare && headers.get('x-content-type-options') !== 'nosniff') problems.push('lacks nosniff')
  if (!isBare && !headers.has('content-security-policy')) problems.push('lacks a security policy')
  if (headers.get('access-control-allow-origin') !== '*') {
    problems.push('does not allow every origin')
  }
  return problems
}

function errorProblems(answer: RawAnswer, { method, bytes }: SentRequest): readonly string[] {
  const { status, headers, body } = answer
  const problems: string[] = []
  if (headers.get('cache-control') !== 'no-store') problems.push('an error may be stored')
  if (status === 401 && !headers.has('www-authenticate')) problems.push('401 without a scheme')
  if ((status === 429 || status === 503) && !headers.has('retry-after')) {
    problems.push(`${status} without Retry-After`)
  }
  if (method === 'HEAD') return problems
  if (headers.get('content-length') !== String(body.length)) problems.push('a wrong length')
  const text = readable(answer)
  if (!isErrorPage(answer)) problems.push(...errorObjectProblems(status, parsed(text)))
  for (const trace of traces) {
    const found = trace.exec(text)?.[0]
    if (found !== undefined && !bytes.includes(found)) problems.push(`shows internals: ${found}`)
  }
  return problems
}

function isErrorPage({ status, headers }: RawAnswer): boolean {
  return status >= 400 && headers.get('content-type') === 'text/html; charset=utf-8'
}

function errorObjectProblems(
  status: number,
  error: Readonly<Record<string, unknown>>,
): readonly string[] {
  const problems: string[] = []
  const code = Object.entries(errorCodes).find(([name]) => name === error['code'])?.[1]
  if (code?.status !== status) problems.push('an unknown code')
  else if (error['error'] !== code.message) problems.push('not the message of its code')
  if (error['docs'] !== `https://ledger.test/docs/errors#${String(error['code'])}`) {
    problems.push('a wrong link to the docs')
  }
  for (const name of Object.keys(error)) {
    if (!errorMembers.includes(name)) problems.push(`an unknown member ${name}`)
  }
  return problems
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
