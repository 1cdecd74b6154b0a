import { errorCodes } from '../../../src/contract/errors.ts'
import type { OpenApiValidator } from '../../support/openapi-validator.ts'
import type { RawAnswer } from '../../support/raw-http.ts'
import { readable } from './wire.ts'

export interface SentRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
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

export function problemsOf(
  request: SentRequest,
  answer: RawAnswer,
  deps: { readonly api: OpenApiValidator; readonly secrets: readonly string[] },
): readonly string[] {
  const problems: string[] = []
  const { status, headers } = answer
  const text = readable(answer)
  if (isTooLarge(request) && status === 431) return errorProblems(answer, request, text)
  if (isPageFor(request, answer)) return headerProblems(answer)
  if (status >= 500) problems.push(`a fault of the service: ${status}`)
  problems.push(...headerProblems(answer))
  if (status >= 400) problems.push(...errorProblems(answer, request, text))
  const answerText = `${[...headers].map((header) => header.join(': ')).join('\n')}\n${text}`
  for (const secret of deps.secrets) {
    if (answerText.includes(secret)) problems.push(`reveals ${secret}`)
  }
  problems.push(...descriptionProblems(request, answer, text, deps.api))
  return problems
}

/** Headers above the limit are refused before the route is found. */
function isTooLarge({ bytes }: SentRequest): boolean {
  return bytes.indexOf('\r\n\r\n') > MAX_HEADER_BYTES
}

const MAX_HEADER_BYTES = 8000

/** Browsers receive a page for a page that does not exist. */
function isPageFor({ path, bytes }: SentRequest, { status, headers }: RawAnswer): boolean {
  const isHtml = headers.get('content-type') === 'text/html; charset=utf-8'
  return status === 404 && isHtml && !path.startsWith('/api/') && bytes.includes('text/html')
}

function headerProblems({ status, headers }: RawAnswer): readonly string[] {
  const problems: string[] = []
  const isNosniff = headers.get('x-content-type-options') === 'nosniff'
  if (status !== 304 && !isNosniff) problems.push('lacks nosniff')
  if (status !== 304 && !headers.has('content-security-policy'))
    problems.push('lacks a content security policy')
  for (const name of ['access-control-allow-credentials', 'set-cookie', 'server', 'x-powered-by']) {
    if (headers.has(name)) problems.push(`has ${name}`)
  }
  if (headers.has('x-injected')) problems.push('contains a header of the request')
  if (headers.get('access-control-allow-origin') !== '*')
    problems.push('does not allow every origin')
  return problems
}

const members = ['error', 'code', 'details', 'docs', 'issues', 'accepts', 'x402Version']

function errorProblems(
  { status, headers, body }: RawAnswer,
  { method, bytes }: SentRequest,
  text: string,
): readonly string[] {
  const problems: string[] = []
  if (headers.get('cache-control') !== 'no-store') problems.push('an error may be stored')
  if (headers.get('content-length') !== String(body.length) && method !== 'HEAD') {
    problems.push('an error with a wrong length')
  }
  if (status === 401 && !headers.has('www-authenticate')) problems.push('401 without a scheme')
  if ((status === 429 || status === 503) && !headers.has('retry-after')) {
    problems.push(`${status} without Retry-After`)
  }
  if (method === 'HEAD') return problems
  const error = parsed(text)
  const code = Object.entries(errorCodes).find(([name]) => name === error['code'])
  if (code === undefined || code[1].status !== status) problems.push('an unknown code')
  else if (error['error'] !== code[1].message)
    problems.push('another message than that of its code')
  if (error['docs'] !== `https://ledger.test/docs/errors#${String(error['code'])}`) {
    problems.push('a wrong link to the docs')
  }
  for (const name of Object.keys(error)) {
    if (!members.includes(name)) problems.push(`an unknown member ${name}`)
  }
  const sent = bytes.toString('utf8')
  for (const trace of traces) {
    const found = trace.exec(text)?.[0]
    if (found !== undefined && !sent.includes(found)) problems.push(`shows internals: ${found}`)
  }
  return problems
}

function descriptionProblems(
  { method, path }: SentRequest,
  { status, headers }: RawAnswer,
  text: string,
  api: OpenApiValidator,
): readonly string[] {
  const template = api.templateOf(path)
  if (template === null) {
    return [400, 404, 405].includes(status) ? [] : [`${status} for a path that is not described`]
  }
  if (status === 304 && (method === 'GET' || method === 'HEAD')) return []
  const type = headers.get('content-type') ?? ''
  if (method === 'HEAD') return []
  const body: unknown = type === 'application/json' ? parsed(text) : text
  return api.problems(path, status, type, body, method.toLowerCase())
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
