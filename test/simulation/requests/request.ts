/** Requests: their bytes, and the facts that the rules of the ledger use. */
import type { Reference } from '../../../src/actions/reference.ts'
import { messages, sha256Hex } from '../../../src/auth/messages.ts'
import { pathOf, routeOf } from '../../../src/contract/routes.ts'
import { partnerHeaders, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Call } from '../http-call.ts'
import type { Fields, Snapshot } from '../oracle/snapshot.ts'
import type { Chance } from '../random.ts'
import { operations } from './operations.ts'
import type { Kind } from './operations.ts'
import { addresses, agents, wallets } from './wallets.ts'

export interface Proof {
  readonly wallet: string
  readonly messageSha256: string
  readonly timestampMs: number
}

export interface SimulatedRequest extends Call {
  readonly number: number
  readonly kind: Kind
  readonly body: Fields
  readonly params: Readonly<Record<string, string>>
  /** Values that the ledger derives from the body, by column name. */
  readonly derived: Readonly<Record<string, string>>
  /** Id of the signing wallet; empty for unsigned requests. */
  readonly wallet: string
  readonly proofs: readonly Proof[]
  readonly key: string | null
  readonly caller: string
  readonly requestSha256: string
  /** True if the signature covers the body. */
  readonly isBound: boolean
  /** Error codes of flaws that the client made on purpose. */
  readonly flaws: readonly string[]
}

export interface Circumstances {
  readonly number: number
  readonly kind: Kind
  readonly db: Snapshot
  readonly nowMs: number
  readonly reference: Reference
  readonly chance: Chance
  /** True: a valid request that continues a scripted sequence; false: mostly valid, at times anything. */
  readonly isWilling: boolean
  readonly keyedHash: (purpose: string, text: string) => string
  /** Codes that an address has received, oldest first. */
  readonly codesTo: (address: string) => readonly string[]
}

export interface RequestParts {
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
  readonly derived?: Readonly<Record<string, string>>
  readonly wallet?: TestWallet
  readonly proofs?: readonly Proof[]
  readonly headers?: Readonly<Record<string, string>>
  readonly flaws?: readonly string[]
  readonly isBound?: boolean
  readonly key?: string
}

/** The time of signing, at times by a wrong clock. */
export function signingTime({ chance, nowMs, isWilling }: Circumstances): number {
  if (isWilling || chance.happens(0.9)) return nowMs + chance.below(50)
  return nowMs + chance.pick([-6, -4, 4, 6] as const) * 60_000 + chance.below(1000)
}

export function proofOf(wallet: TestWallet, message: string, timestampMs: number): Proof {
  return { wallet: wallet.id, messageSha256: sha256Hex(message), timestampMs }
}

/** Another wallet than the signer's, at times; its signature is invalid. */
export function drawForger(
  { chance, isWilling }: Circumstances,
  { id }: TestWallet,
): TestWallet | undefined {
  const isForged = !isWilling && chance.happens(0.05)
  return isForged ? wallets.find((other) => other.id !== id) : undefined
}

export function createRequest(at: Circumstances, parts: RequestParts): SimulatedRequest {
  const { chance, number, kind } = at
  const { body, params = {}, derived = {}, wallet, proofs = [], flaws = [] } = parts
  const { isBound = false } = parts
  const { method } = routeOf(operations[kind])
  const path = pathOf(operations[kind], params)
  const raw = body === undefined ? '' : JSON.stringify(body)
  const isKeyed = method === 'POST' && !at.isWilling && chance.happens(0.3)
  const key = parts.key ?? (isKeyed ? `key-${chance.below(12)}` : null)
  const address = chance.pick(addresses)
  return {
    number,
    kind,
    method,
    path,
    raw,
    address,
    key,
    flaws,
    isBound,
    params,
    derived,
    proofs,
    body: { ...body },
    headers: {
      ...parts.headers,
      'User-Agent': chance.pick(agents),
      ...(key === null ? {} : { 'Idempotency-Key': key }),
    },
    wallet: wallet?.id ?? '',
    caller: proofs[0]?.wallet ?? at.keyedHash('remote', address),
    requestSha256: requestSha256({ method, path }, raw),
  }
}

/** A write of a partner, with the bearer signature and further proofs. */
export async function createPartnerRequest(
  at: Circumstances,
  parts: RequestParts & { readonly wallet: TestWallet; readonly timestampMs?: number },
): Promise<SimulatedRequest> {
  const { chance, kind, isWilling } = at
  const { wallet, body, params = {}, flaws = [], timestampMs = signingTime(at) } = parts
  const target = {
    method: routeOf(operations[kind]).method,
    path: pathOf(operations[kind], params),
    raw: body === undefined ? '' : JSON.stringify(body),
  }
  const timestamp = String(timestampMs)
  const isBound = isWilling || chance.happens(0.8)
  const headers = await partnerHeaders(wallet, target, {
    nowMs: timestampMs,
    binding: isBound ? 'body' : 'path',
  })
  const message = isBound
    ? messages.partnerAuthV2(testService, {
        ...target,
        timestamp,
        rawSha256: sha256Hex(target.raw),
      })
    : messages.partnerAuthV1(testService, { ...target, timestamp })
  const forger = drawForger(at, wallet)
  const forged =
    forger === undefined
      ? {}
      : { Authorization: `Bearer ${wallet.address}:${await forger.sign(message)}` }
  return createRequest(at, {
    ...parts,
    isBound,
    headers: { ...headers, ...forged },
    proofs: [proofOf(wallet, message, timestampMs), ...(parts.proofs ?? [])],
    flaws: [...flaws, ...(forger === undefined ? [] : ['signature_invalid'])],
  })
}

/** Repeats a request; `isRespelled` changes its bytes and not its meaning. */
export function repeatRequest(
  request: SimulatedRequest,
  number: number,
  isRespelled: boolean,
): SimulatedRequest {
  if (!isRespelled || request.raw === '') return { ...request, number }
  const raw = `${request.raw} `
  const flaws = request.isBound ? [...request.flaws, 'signature_invalid'] : request.flaws
  return { ...request, number, raw, flaws, requestSha256: requestSha256(request, raw) }
}

function requestSha256({ method, path }: Pick<Call, 'method' | 'path'>, raw: string): string {
  return sha256Hex(`${method} ${path}\n${sha256Hex(raw)}`)
}
