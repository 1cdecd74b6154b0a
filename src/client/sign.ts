/** What is signed in bodies: statements, oaths and receipts. */
import { bodySha256, fillOath, receiptId, signingText } from '../auth/messages.ts'
import type { SignedBody } from '../auth/messages.ts'
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

/** A body that says whose it is and when, signed by the wallet; with an oath where one is given. */
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
  const sworn = oath === undefined ? null : await swear(caller, oath, timestamp)
  const unsigned = {
    ...body,
    wallet,
    timestamp,
    signature: '',
    ...(sworn === null ? {} : { oath_signature: sworn.signature }),
  }
  const message = statement(caller.serviceName, {
    wallet,
    timestamp,
    bodySha256: bodySha256(unsigned),
  })
  const signature = await signer.signMessage(message)
  return {
    body: { ...unsigned, signature },
    signed: [signedText('signature', message), ...(sworn === null ? [] : [sworn.signed])],
  }
}

/**
 * The signature over an oath. An oath comes from a server, and a wallet signs no text blindly: it must say
 * in its first line that it is an oath of its kind, and have a place for the wallet and for the time.
 * @throws CallError for any other text.
 */
export async function swear(
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
  if (!isOath) throw new CallError(`what the ledger calls its ${oath.kind} oath is not one`)
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

/** What a receipt says, without who vouches for it. */
export interface ReceiptFacts {
  readonly rail: string
  readonly chain?: string | undefined
  readonly tx_hash?: string | undefined
  readonly from_wallet?: string | undefined
  readonly to_wallet: string
  readonly amount_usdc: number | string
  readonly asset_symbol: 'USDC'
  readonly occurred_at: string
  readonly summary?: string | undefined
  readonly job_id?: string | undefined
  readonly evidence_url?: string | undefined
}

export type WorkerReceipt = ReceiptFacts & {
  readonly public_key: string
  readonly worker_signature: string
}
export type PlatformReceipt = ReceiptFacts & {
  readonly platform: string
  readonly platform_signature: string
}
export type SealedReceipt = WorkerReceipt | PlatformReceipt

export interface Sealed<Receipt extends SealedReceipt> {
  readonly receipt: Receipt
  readonly receiptId: string
  readonly signed: SignedText
}

/** A receipt signed with the worker's receipt key. */
export function sealAsWorker(facts: ReceiptFacts, key: ReceiptKey): Sealed<WorkerReceipt> {
  const unsigned = { ...facts, public_key: key.publicKey, worker_signature: '' }
  const text = signingText(unsigned)
  return {
    receipt: { ...unsigned, worker_signature: key.sign(text) },
    receiptId: receiptId(unsigned),
    signed: signedText('worker_signature', text),
  }
}

/** A receipt issued by a platform of the registry. */
export function sealAsPlatform(
  facts: ReceiptFacts,
  platform: string,
  key: ReceiptKey,
): Sealed<PlatformReceipt> {
  const unsigned = { ...facts, platform, platform_signature: '' }
  const text = signingText(unsigned)
  return {
    receipt: { ...unsigned, platform_signature: key.sign(text) },
    receiptId: receiptId(unsigned),
    signed: signedText('platform_signature', text),
  }
}
