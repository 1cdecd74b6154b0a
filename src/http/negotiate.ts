/** Content negotiation by `Accept-Encoding` and `Accept` (RFC 9110 sections 12.5.1 and 12.5.3). */
import type { Encoding } from '../core/documents.ts'
import { memoized } from '../core/remember.ts'

export type Coding = Encoding | 'identity'

/** Order among codings of equal weight. */
const ORDER = ['br', 'gzip', 'identity'] as const satisfies readonly Coding[]
const IDENTITY_ONLY: readonly Coding[] = ['identity']
const aliases: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' }
const weightForm = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i
/** Weight of `identity` if the header does not list it: acceptable, but below every listed coding. */
const IMPLICIT_WEIGHT = 0.0005

const MEMO_SIZE = 256
const MEMO_LENGTH = 200

/** Returns the codings that the client accepts, best first. Without a header, the only one is `identity`. */
export function acceptedCodings(header: string | undefined): readonly Coding[] {
  if (header === undefined) return IDENTITY_ONLY
  return header.length > MEMO_LENGTH ? parse(header) : parseKnown(header)
}

/** Most clients send one of a few headers. */
const parseKnown = memoized(parse, MEMO_SIZE)

function parse(header: string): readonly Coding[] {
  const weights = new Map<string, number>()
  for (const [name, parameters] of partsOf(header)) {
    const weight = parameters.length === 0 ? 1 : weightOf(parameters)
    if (name !== '' && weight !== null) weights.set(aliases[name] ?? name, weight)
  }
  const others = weights.get('*')
  const weightFor = (coding: Coding): number =>
    weights.get(coding) ?? others ?? (coding === 'identity' ? IMPLICIT_WEIGHT : 0)
  return ORDER.filter((coding) => weightFor(coding) > 0).sort(
    (left, right) => weightFor(right) - weightFor(left),
  )
}

function partsOf(header: string): readonly (readonly [name: string, parameters: string[]])[] {
  return header.split(',').map((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return [name, parameters]
  })
}

function weightOf(parameters: readonly string[]): number | null {
  const match = parameters.length === 1 ? weightForm.exec(parameters[0] ?? '') : null
  return match === null ? null : Number(match[1])
}

/** Returns true if the header lists HTML with a higher weight than JSON. */
export function prefersHtml(header: string | undefined): boolean {
  return weightIn(header, 'text/html') > weightIn(header, 'application/json')
}

/** Returns true if the header lists Markdown, and HTML with no higher weight. */
export function prefersMarkdown(header: string | undefined): boolean {
  const weight = weightIn(header, 'text/markdown')
  return weight > 0 && weight >= weightIn(header, 'text/html')
}

/** Weight of a media type; 0 if the header does not list it, whatever its ranges. */
function weightIn(header: string | undefined, type: string): number {
  const found = partsOf(header ?? '').find(([listed]) => listed === type)
  if (found === undefined) return 0
  const q = found[1].filter((parameter) => parameter.startsWith('q='))
  return q.length === 0 ? 1 : (weightOf(q) ?? 0)
}
