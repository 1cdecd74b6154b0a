import { ed25519Check } from '../auth/check.ts'
import { decodeEd25519Signature } from '../auth/ed25519.ts'
import { receiptId, sha256Hex, signingText } from '../auth/messages.ts'
import { evmChainNames, receiptChains } from '../chain/chains.ts'
import { ApiError } from '../contract/errors.ts'
import type { Platform } from '../contract/schemas/platform.ts'
import type { ReceiptBody } from '../contract/schemas/receipt.ts'
import { receiptOfSubmission } from '../core/canonical-json.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { txHashProblem } from '../core/chains.ts'
import { isoTime, minuteMs, parseTime } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { toJsonText } from '../db/json.ts'
import type { NewReceipt } from '../db/receipts/receipts.ts'
import type { ActionDeps } from './deps.ts'
import { requireRail, unknownName } from './reference.ts'
import {
  invalidField,
  orUnavailable,
  requirePublicKey,
  requireUsdc,
  requireWallet,
} from './signed-body.ts'

type DraftDeps = Pick<ActionDeps, 'reference' | 'signatures'>

const CLOCK_SKEW_MS = 5 * minuteMs
const ALGORITHM = /^ed25519:/

interface SignedSubmission {
  readonly body: ReceiptBody
  readonly json: JsonObject
  readonly nowMs: number
}

/** @throws ApiError 400 for the hash, 401 for the signature, 403 for a foreign submitter, 422 by the ledger's rules */
export async function draftReceipt(
  deps: DraftDeps,
  submission: SignedSubmission,
): Promise<NewReceipt> {
  const { body, json, nowMs } = submission
  const rail = requireRail(deps.reference(), body.rail)
  const chain = body.chain ?? (rail.chain === 'off-chain' ? null : rail.chain)
  const occurredAt = requirePast(body.occurred_at, nowMs)
  const amountMicroUsdc = requireUsdc(body.amount_usdc, 'amount_usdc')
  const payee = requireWallet(body.to_wallet, 'to_wallet')
  const payer =
    body.from_wallet === undefined ? null : requireWallet(body.from_wallet, 'from_wallet')
  const payment = { chain, txHash: body.tx_hash ?? null, payer, payee, amountMicroUsdc, occurredAt }
  requireTransaction(payment)
  const submitter = requireWallet(body.wallet, 'wallet')
  const receipt = receiptOfSubmission(json)
  const isByWorker = submitter.id === payee.id
  const issuer = await requireIssuer(deps, { ...submission, receipt, isByWorker })
  const stated = { ...payment, ...issuer, id: receiptId(receipt), authority: null }
  return newReceipt(stated, body, { submitter, nowMs })
}

export interface StatedPayment extends Pick<NewReceipt, 'chain' | 'txHash' | 'amountMicroUsdc'> {
  readonly payer: Wallet | null
  readonly payee: Wallet
  readonly occurredAt: string
}

type Stated = StatedPayment &
  Pick<NewReceipt, 'id' | 'kind' | 'platform' | 'publicKey' | 'content' | 'authority'>

export function newReceipt(
  { payer, payee, ...stated }: Stated,
  body: Pick<ReceiptBody, 'rail' | 'summary' | 'job_id' | 'evidence_url'>,
  { submitter, nowMs }: { readonly submitter: Wallet; readonly nowMs: number },
): NewReceipt {
  return {
    ...stated,
    rail: body.rail,
    fromWallet: payer?.id ?? null,
    fromDisplay: payer?.display ?? null,
    toWallet: payee.id,
    toDisplay: payee.display,
    assetSymbol: 'USDC',
    summary: body.summary ?? null,
    jobId: body.job_id ?? null,
    evidenceUrl: body.evidence_url ?? null,
    submitter: submitter.id,
    acceptedAt: isoTime(nowMs),
    ...verificationOf(stated),
  }
}

/** @throws ApiError 400 for the hash, 422 for a wallet that the chain cannot have */
export function requireTransaction({ chain, txHash, payee, payer }: StatedPayment): void {
  if (txHash === null) return
  const problem = txHashProblem(chain ?? 'off-chain', txHash)
  if (problem !== null) throw invalidField('tx_hash', problem)
  const evmChain = evmChainNames.find((name) => name === chain)
  if (evmChain === undefined) return
  const refuse = (what: string) =>
    new ApiError('refused', `${what} on ${evmChain}: use a 0x address`)
  if (payee.kind !== 'evm') throw refuse('to_wallet cannot receive')
  if (payer !== null && payer.kind !== 'evm') throw refuse('from_wallet cannot pay')
}

export function requirePast(text: string, nowMs: number): string {
  const timeMs = parseTime(text)
  if (timeMs === null) throw invalidField('occurred_at', 'must be an RFC 3339 time')
  if (timeMs > nowMs + CLOCK_SKEW_MS) {
    throw new ApiError('refused', 'occurred_at is in the future')
  }
  return isoTime(timeMs)
}

type Issuer = Pick<NewReceipt, 'kind' | 'platform' | 'publicKey' | 'content'>

async function requireIssuer(
  deps: DraftDeps,
  submission: SignedSubmission & { readonly isByWorker: boolean; readonly receipt: JsonObject },
): Promise<Issuer> {
  const { body, nowMs, isByWorker } = submission
  if ('platform' in body) {
    const platform = requirePlatform(deps, body, nowMs)
    const content = await requireSigned(deps, submission, {
      signature: body.platform_signature,
      publicKey: platform.public_key,
      who: 'platform',
    })
    return { kind: 'platform', platform: body.platform, publicKey: null, content }
  }
  if (!isByWorker) {
    throw new ApiError(
      'forbidden',
      'Only its worker may submit a receipt without a platform: wallet must be to_wallet',
    )
  }
  const publicKey = body.public_key.replace(ALGORITHM, '')
  const content = await requireSigned(deps, submission, {
    signature: body.worker_signature,
    publicKey,
    who: 'worker',
  })
  return { kind: 'signed', platform: null, publicKey, content }
}

function requirePlatform(
  deps: DraftDeps,
  body: { readonly platform: string; readonly rail: string },
  nowMs: number,
): Platform {
  const { platforms } = deps.reference()
  const platform = platforms.get(body.platform)
  if (platform === undefined) {
    throw new ApiError('refused', unknownName('platform', body.platform, platforms.keys()))
  }
  if (platform.revoked_at !== undefined && Date.parse(platform.revoked_at) <= nowMs) {
    throw new ApiError('signature_invalid', `The key of ${body.platform} was revoked`)
  }
  if (!platform.rails.includes(body.rail)) {
    throw new ApiError('refused', `${body.platform} does not issue receipts for ${body.rail}`)
  }
  return platform
}

/** Returns what the signature covers, as JSON: the receipt alone, or the whole body without the request's own signature. */
async function requireSigned(
  { signatures }: DraftDeps,
  { json, receipt }: { readonly json: JsonObject; readonly receipt: JsonObject },
  signed: { readonly signature: string; readonly publicKey: string; readonly who: string },
): Promise<string> {
  const { who } = signed
  const publicKey = requirePublicKey(signed.publicKey, 'public_key')
  const signature = decodeEd25519Signature(signed.signature.replace(ALGORITHM, ''))
  if (signature === null) throw new ApiError('signature_invalid', `${who}_signature is malformed`)
  for (const content of [receipt, { ...json, signature: '' }]) {
    const check = ed25519Check(signingText(content), signature, publicKey)
    if ((await orUnavailable(signatures.check(check))).valid) return toJsonText(content)
  }
  const expected = sha256Hex(signingText(receipt))
  throw new ApiError(
    'signature_invalid',
    `${who}_signature does not match the receipt, whose signing text has SHA-256 ${expected}`,
  )
}

/** Depends on the signature alone; the chain is checked later. */
function verificationOf({
  kind,
  chain,
  txHash,
}: Pick<NewReceipt, 'kind' | 'chain' | 'txHash'>): Pick<
  NewReceipt,
  'onchain' | 'verification' | 'verificationReason'
> {
  const onchain = txHash === null ? 'none' : 'pending'
  if (kind === 'platform') return { verification: 'verified', verificationReason: null, onchain }
  if (txHash === null) return { verification: 'unverified', verificationReason: unproven, onchain }
  const isChecked = receiptChains.some((name) => name === chain)
  const verificationReason = isChecked ? toBeChecked : notChecked
  return { verification: 'pending', verificationReason, onchain }
}

const toBeChecked =
  'Checked every hour on chains with a node, which /status lists; on others it stays pending. Until all checks are done, the month that it counts in has no statement and is in open_months of /api/v1/workers/{wallet}/statements (see /docs/statements#closing)'
const notChecked =
  'Nobody checks transactions of this chain, so the payment stays unconfirmed; the statement of its month does not wait for it (see /docs/receipts#chains)'
const unproven = 'Signed by the worker alone, without evidence of the payment'
