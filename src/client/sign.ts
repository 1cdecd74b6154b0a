/** Signatures over statements, oaths and receipts. */
import { z } from 'zod'

import { bodySha256, fillOath, receiptIdOf, signingText } from '../auth/messages.ts'
import type { SignedBody } from '../auth/messages.ts'
import { receiptOfSubmission } from '../auth/verify-receipt.ts'
import { describeIssues } from '../contract/issue-text.ts'
import { platformReceiptBody, signedReceiptBody } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { isoTime } from '../core/time.ts'
import { CallError } from './errors.ts'
import { requireSigner, signedText } from './prepare.ts'
import type { Caller, SignedText } from './prepare.ts'
import type { ReceiptKey } from './signers.ts'

export interface SignedParts<Body extends object> {
  readonly body: Body
  readonly signed: readonly SignedText[]
}

/** An oath as `GET /oaths` has it. */
export interface OathText {
  readonly kind: 'worker' | 'claim' | 'partner'
  readonly version: number
  readonly text: string
}

type Statement = (service: string, from: SignedBody) => string

/** Adds wallet, timestamp and signature to a body, and the signature over an oath where one is given. */
export async function signStatement<Body extends object>(
  caller: Caller,
  statement: Statement,
  body: Body,
  oath?: OathText,
): Promise<
  SignedParts<
    Body & { wallet: string; timestamp: string; signature: string; oath_signature?: string }
  >
> {
  const signer = requireSigner(caller)
  const { wallet } = signer
  const timestamp = isoTime(caller.clock.now())
  const oathPart = oath === undefined ? null : await signOath(caller, oath, timestamp)
  const unsigned = {
    ...body,
    wallet,
    timestamp,
    signature: '',
    ...(oathPart === null ? {} : { oath_signature: oathPart.signature }),
  }
  const message = statement(caller.serviceName, {
    wallet,
    timestamp,
    bodySha256: bodySha256(unsigned),
  })
  const signature = await signer.signMessage(message)
  return {
    body: { ...unsigned, signature },
    signed: [signedText('signature', message), ...(oathPart === null ? [] : [oathPart.signed])],
  }
}

/**
 * Signs an oath. The text comes from a server, so its first line must name an oath of this kind and version, and it
 * must have places for the wallet and the time: no other text is signed.
 * @throws CallError
 */
export async function signOath(
  caller: Caller,
  oath: OathText,
  timestamp: string,
): Promise<{ readonly signature: string; readonly signed: SignedText }> {
  const signer = requireSigner(caller)
  const [title] = oath.text.split('\n', 1)
  const isOath =
    title !== undefined &&
    new RegExp(`^[a-z0-9-]{1,64} ${oath.kind} oath, version ${oath.version}$`).test(title) &&
    oath.text.includes('{WALLET}') &&
    oath.text.includes('{TIMESTAMP}')
  if (!isOath) throw new CallError(`the ledger's ${oath.kind} oath is not in the form of an oath`)
  const text = fillOath(oath.text, { wallet: signer.wallet, timestamp })
  return { signature: await signer.signMessage(text), signed: signedText('oath_signature', text) }
}

/** The newest version of a kind. @throws CallError where there is none. */
export function newestOath(oaths: readonly OathText[], kind: OathText['kind']): OathText {
  const [newest] = oaths
    .filter((oath) => oath.kind === kind)
    .toSorted((left, right) => right.version - left.version)
  if (newest === undefined) throw new CallError(`the ledger has no ${kind} oath`)
  return newest
}

/** A receipt that its worker signs. */
export type WorkerReceipt = Omit<z.input<typeof signedReceiptBody>, SubmissionField>
/** A receipt that a registered platform issues. */
export type PlatformReceipt = Omit<z.input<typeof platformReceiptBody>, SubmissionField>
/** The facts of a receipt, without public key and signature. */
export type ReceiptFacts = Omit<WorkerReceipt, 'public_key' | 'worker_signature'>
type SubmissionField = 'wallet' | 'timestamp' | 'signature'

export type SignedReceipt = WorkerReceipt | PlatformReceipt

/** A signed receipt with its id and the text that was signed. */
export interface IdentifiedReceipt<Receipt extends SignedReceipt = SignedReceipt> {
  readonly receipt: Receipt
  readonly receiptId: string
  readonly signed: SignedText
}

/** Signs a receipt with the worker's receipt key. */
export function signAsWorker(
  facts: ReceiptFacts,
  key: ReceiptKey,
): IdentifiedReceipt<WorkerReceipt> {
  const unsigned = { ...facts, public_key: key.publicKey, worker_signature: '' }
  const text = signingText(unsigned)
  return identify({ ...unsigned, worker_signature: key.sign(text) })
}

/** Signs a receipt with the key of a registered platform. */
export function signAsPlatform(
  facts: ReceiptFacts,
  platform: string,
  key: ReceiptKey,
): IdentifiedReceipt<PlatformReceipt> {
  const unsigned = { ...facts, platform, platform_signature: '' }
  const text = signingText(unsigned)
  return identify({ ...unsigned, platform_signature: key.sign(text) })
}

const submissionFields = { wallet: true, timestamp: true, signature: true } as const
const signedReceipt = z.union([
  platformReceiptBody.omit(submissionFields),
  signedReceiptBody.omit(submissionFields),
])

/**
 * Reads a signed receipt, or the receipt of a whole submission, from JSON. The signature is not checked.
 * @throws CallError where a field is missing, unknown or out of range.
 */
export function parseSignedReceipt(json: JsonObject): IdentifiedReceipt {
  const receipt = receiptOfSubmission(json)
  const parsed = signedReceipt.safeParse(receipt)
  if (parsed.success) return identify(parsed.data)
  throw new CallError([
    { path: '', message: 'this is not a signed receipt' },
    ...describeIssues(parsed.error, receipt),
  ])
}

function identify<Receipt extends SignedReceipt>(receipt: Receipt): IdentifiedReceipt<Receipt> {
  const text = signingText(receipt)
  const carrier = 'platform' in receipt ? 'platform_signature' : 'worker_signature'
  return { receipt, receiptId: receiptIdOf(text), signed: signedText(carrier, text) }
}
