import type { ApplyBlock } from '../contract/schemas/application.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { OutboundError } from './pinned-fetch.ts'
import type { OutboundRequest, PinnedFetch } from './pinned-fetch.ts'

const limits = { timeoutMs: 10_000, maxAnswerBytes: 256 * 1024 } as const

export interface ApplicationValues {
  readonly applicationId: string
  readonly workerWallet: string
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
}

export type ForwardResult =
  | { readonly outcome: 'accepted' | 'refused'; readonly status: number; readonly fault: null }
  | { readonly outcome: 'failed'; readonly status: null; readonly fault: string }

export function fieldProblem(
  block: ApplyBlock,
  fields: ApplicationValues['fields'],
): string | null {
  for (const [name, value] of Object.entries(fields)) {
    const maxLength = Object.hasOwn(block.fields, name) ? block.fields[name] : undefined
    if (maxLength === undefined) {
      const known = Object.keys(block.fields)
      return `The rail accepts ${known.length === 0 ? 'no fields' : `only ${known.join(', ')}`}`
    }
    if (value.length > maxLength) return `${name} is longer than ${maxLength} characters`
  }
  return null
}

/** Failures of the rail become a result, not an error. */
export async function forwardApplication(
  send: PinnedFetch,
  block: ApplyBlock,
  values: ApplicationValues,
  userAgent: string,
): Promise<ForwardResult> {
  const request: OutboundRequest = {
    url: block.endpoint,
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'User-Agent': userAgent,
    },
    body: JSON.stringify(filled(block.body, values)),
  }
  try {
    const { status } = await send(request, limits)
    const isAccepted = status >= 200 && status < 300
    return { outcome: isAccepted ? 'accepted' : 'refused', status, fault: null }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { outcome: 'failed', status: null, fault: error.message }
  }
}

/** Replaces whole strings only, so that no value becomes part of another. Omits missing fields. */
function filled(body: ApplyBlock['body'], values: ApplicationValues): JsonObject {
  const known = new Map([
    ['{application_id}', values.applicationId],
    ['{worker_wallet}', values.workerWallet],
    ['{message}', values.message],
    ...Object.entries(values.fields).map(([name, value]) => [`{fields.${name}}`, value] as const),
  ])
  const members = Object.entries(body).flatMap(([name, value]) => {
    if (typeof value !== 'string' || !/^\{[a-z0-9_.]+\}$/.test(value))
      return [[name, value] as const]
    const put = known.get(value)
    return put === undefined ? [] : [[name, put] as const]
  })
  return Object.fromEntries(members)
}
