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

export interface OathText {
  readonly kind: 'worker' | 'claim' | 'partner'
  readonly version: number
  readonly text: string
}

type Statement = (service: string, from: SignedBody) => string

/** Adds wallet, timestamp and signature to a body, and the signature over an oath, if given. */
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

/** Signs an oath. The text comes from a server, so any other text is refused. @throws CallError */
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
  if (!isOath) throw new CallError(`the ${oath.kind} oath of the ledger is malformed`)
  const text = fillOath(oath.text, { wallet: signer.wallet, timestamp })
  return { signature: await signer.signMessage(text), signed: signedText('oath_signature', text) }
}

/** @throws CallError if there is no oath of this kind */
export function newestOath(oaths: readonly OathText[], kind: OathText['kind']): OathText {
  const [newest] = oaths
    .filter((oath) => oath.kind === kind)
    .toSorted((left, right) => right.version - left.version)
  if (newest === undefined) throw new CallError(`the ledger has no ${kind} oath`)
  return newest
}

export type WorkerReceipt = Omit<z.input<typeof signedReceiptBody>, SubmissionField>
export type PlatformReceipt = Omit<z.input<typeof platformReceiptBody>, SubmissionField>
export type ReceiptFacts = Omit<WorkerReceipt, 'public_key' | 'worker_signature'>
type SubmissionField = 'wallet' | 'timestamp' | 'signature'

export type SignedReceipt = WorkerReceipt | PlatformReceipt

export interface IdentifiedReceipt<Receipt extends SignedReceipt = SignedReceipt> {
  readonly receipt: Receipt
  readonly receiptId: string
  readonly signed: SignedText
}

export function signAsWorker(
  facts: ReceiptFacts,
  key: ReceiptKey,
): IdentifiedReceipt<WorkerReceipt> {
  const unsigned = { ...facts, public_key: key.publicKey, worker_signature: '' }
  const text = signingText(unsigned)
  return identify({ ...unsigned, worker_signature: key.sign(text) })
}

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

/** Parses a signed receipt, alone or in a submission. Does not verify the signature. @throws CallError */
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
