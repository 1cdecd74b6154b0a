import type { Reference } from '../../../src/actions/reference.ts'
/** A request: its bytes and its facts. */
import { sha256Hex } from '../../../src/auth/messages.ts'
import { pathOf, routeOf } from '../../../src/contract/routes.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Emails } from '../emails.ts'
import type { Call } from '../http-call.ts'
import type { RequestFacts, Intent, Proof } from '../model/intent.ts'
import type { State } from '../model/state.ts'
import type { Chance } from '../random.ts'
import { operations } from './operations.ts'
import { addresses, agents } from './wallets.ts'

export interface Sent extends Call, RequestFacts {
  readonly number: number
}

export interface Circumstances {
  readonly number: number
  readonly state: State
  readonly nowMs: number
  readonly reference: Reference
  readonly chance: Chance
  /** True: a valid request that leads on; false: mostly valid, at times anything. */
  readonly isWilling: boolean
  /** The hash that identifies callers without a wallet. */
  readonly remoteKey: (address: string) => string
  readonly emails: Pick<Emails, 'codesTo' | 'hashes'>
}

export interface Parts {
  readonly intent: Intent
  /** Path parameters. */
  readonly params?: Readonly<Record<string, string>>
  /** Null where there is none. */
  readonly body: object | null
  readonly wallet: TestWallet | null
  readonly proofs: readonly Proof[]
  readonly headers?: Readonly<Record<string, string>>
  readonly flaws?: readonly string[]
  readonly isBound?: boolean
  /** By default left to chance. */
  readonly key?: string
}

export function targetOf(kind: Intent['kind'], params: Readonly<Record<string, string>> = {}) {
  const operation = operations[kind]
  return { method: routeOf(operation).method, path: pathOf(operation, params) }
}

export function rawOf(body: object | null): string {
  return body === null ? '' : JSON.stringify(body)
}

export function sentOf(at: Circumstances, parts: Parts, from = senderOf(at)): Sent {
  const { chance, number } = at
  const { intent, params, wallet, flaws = [], isBound = false } = parts
  const { address, agent } = from
  const { method, path } = targetOf(intent.kind, params)
  const raw = rawOf(parts.body)
  const isKeyed = method === 'POST' && !at.isWilling && chance.happens(0.3)
  const key = parts.key ?? (isKeyed ? `key-${chance.below(12)}` : null)
  return {
    number,
    method,
    path,
    raw,
    address,
    agent,
    key,
    flaws,
    isBound,
    headers: {
      ...parts.headers,
      'User-Agent': agent,
      ...(key === null ? {} : { 'Idempotency-Key': key }),
    },
    intent,
    wallet: wallet?.id ?? '',
    display: wallet?.address ?? '',
    proofs: parts.proofs,
    caller: parts.proofs[0]?.wallet ?? at.remoteKey(address),
    requestSha: requestSha({ method, path }, raw),
  }
}

/** Repeats a request; `respelled` changes bytes and not the meaning. */
export function again(sent: Sent, number: number, respelled: boolean): Sent {
  if (!respelled || sent.raw === '') return { ...sent, number }
  const raw = `${sent.raw} `
  const flaws = sent.isBound ? [...sent.flaws, 'signature_invalid'] : sent.flaws
  return { ...sent, number, raw, flaws, requestSha: requestSha(sent, raw) }
}

function requestSha({ method, path }: Pick<Call, 'method' | 'path'>, raw: string): string {
  return sha256Hex(`${method} ${path}\n${sha256Hex(raw)}`)
}

export function senderOf({ chance }: Pick<Circumstances, 'chance'>) {
  return { address: chance.pick(addresses), agent: chance.pick(agents) }
}

/** The signing time, at times by a wrong clock. */
export function signingTime({ chance, nowMs, isWilling }: Circumstances): number {
  if (isWilling || chance.happens(0.9)) return nowMs + chance.below(50)
  return nowMs + chance.pick([-6, -4, 4, 6] as const) * 60_000 + chance.below(1000)
}
