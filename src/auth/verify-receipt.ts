import { offerReceipt } from '../contract/schemas/receipt.ts'
import { receiptOfSubmission } from '../core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../core/canonical-json.ts'
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import type { receiptKinds } from '../core/onchain.ts'
import { walletOrNull, walletPublicKey } from '../core/wallet.ts'
import { verifyEd25519 } from './ed25519.ts'
import { receiptId, signingText } from './messages.ts'
import { ArtifactError, offerKind, readArtifact, receiptKind } from './offer-receipt.ts'
import { publicKeyOrNull } from './signing-key.ts'

/** Base64 public keys by platform slug. A platform may have several keys. */
export type PlatformKeys = ReadonlyMap<string, string | readonly string[]>

export interface ReceiptVerification {
  readonly receiptId: string
  readonly kind: (typeof receiptKinds)[number] | 'unsigned'
  /** What the signature covers, as the ledger publishes it. */
  readonly content: JsonObject
  readonly checks: readonly Check[]
}

/** Checks id and signature of a receipt, alone or in a submission. Only the chain proves its payment. */
export async function verifyReceipt(
  submission: JsonObject,
  platforms: PlatformKeys,
  expectedId: string | null = null,
): Promise<ReceiptVerification> {
  const receipt = receiptOfSubmission(submission)
  const id = receiptId(receipt)
  const checks: Check[] = []
  if (expectedId !== null) {
    checks.push(check('receipt id', id === expectedId, `the content hashes to ${id}`))
  }
  const kind = kindOf(receipt)
  if (kind === 'x402' || kind === 'erc8004') {
    const what = 'signature of the seller'
    const unsigned = {
      what,
      good: true,
      label: 'open',
      detail: 'it has none: see the chain',
    } as const
    checks.push(kind === 'x402' ? await checkSeller(what, receipt['offer_receipt']) : unsigned)
    return { receiptId: id, kind, content: receipt, checks }
  }
  if (kind === 'unsigned') {
    const detail = 'neither worker_signature nor platform_signature is present'
    checks.push({ what: 'signature', good: false, detail })
    return { receiptId: id, kind, content: receipt, checks }
  }
  // The signature covers the receipt or the whole submission.
  const hasRequest = submission['signature'] !== undefined
  const contents = [receipt, hasRequest ? { ...submission, signature: '' } : submission]
  let content = receipt
  const checkSigned = ({ signed, ...verdict }: SignatureCheck) => {
    content = signed ?? content
    checks.push(verdict)
  }
  if (kind === 'signed') {
    checkSigned(
      checkSignature(contents, receipt['worker_signature'], receipt['public_key'], 'worker'),
    )
    checks.push(...checkWalletKey(receipt))
  } else {
    const platform = typeof receipt['platform'] === 'string' ? receipt['platform'] : ''
    const keys = [platforms.get(platform) ?? []].flat()
    const found = (keys.length === 0 ? [undefined] : keys).map((key) =>
      checkSignature(contents, receipt['platform_signature'], key, `platform ${platform}`),
    )
    const best = found.find(({ good }) => good) ?? found[0]
    if (best !== undefined) checkSigned(best)
  }
  return { receiptId: id, kind, content, checks }
}

async function checkSeller(what: string, content: JsonValue | undefined): Promise<Check> {
  const { data: signed } = offerReceipt.safeParse(content)
  if (signed === undefined) return check(what, false, 'offer_receipt is malformed')
  if (signed.receipt.format === 'jws') {
    const detail = 'not verified: its key is at the site of the seller'
    return { what, good: true, label: 'open', detail }
  }
  try {
    const { signer } = await readArtifact(receiptKind, signed.receipt)
    const offer = signed.offer && (await readArtifact(offerKind, signed.offer))
    const payTo = offer?.payload.payTo.toLowerCase() ?? signer
    const good = signer === payTo && signer === (offer?.signer ?? payTo)
    const by = `by ${signer}, which must be to_wallet`
    return check(what, good, by, 'the signers of receipt and offer are not payTo of the offer')
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error
    return check(what, false, error.message)
  }
}

function kindOf(receipt: JsonObject): ReceiptVerification['kind'] {
  if (receipt['platform_signature'] !== undefined) return 'platform'
  if (receipt['offer_receipt'] !== undefined) return 'x402'
  if (receipt['proof_of_payment'] !== undefined) return 'erc8004'
  return receipt['worker_signature'] === undefined ? 'unsigned' : 'signed'
}

interface SignatureCheck extends Check {
  readonly signed?: JsonObject
}

function checkSignature(
  contents: readonly JsonObject[],
  signature: JsonValue | undefined,
  key: JsonValue | undefined,
  signedBy: string,
): SignatureCheck {
  const what = `signature of the ${signedBy}`
  const publicKey = publicKeyOf(key)
  if (publicKey === null) return { what, good: false, detail: 'its public key is unknown' }
  const base64 = typeof signature === 'string' ? signature.replace(/^ed25519:/, '') : ''
  if (!/^[A-Za-z0-9+/]{86}==$/.test(base64)) {
    return { what, good: false, detail: 'must be ed25519: and base64 of 64 bytes' }
  }
  for (const signed of contents) {
    const { valid } = verifyEd25519(signingText(signed), Buffer.from(base64, 'base64'), publicKey)
    const detail = `by ${Buffer.from(publicKey).toString('base64')}`
    if (valid) return { what, good: true, detail, signed }
  }
  return { what, good: false, detail: 'the content differs from the signed content' }
}

function publicKeyOf(key: JsonValue | undefined): Uint8Array | null {
  return typeof key === 'string' ? publicKeyOrNull(key.replace(/^ed25519:/, '')) : null
}

function checkWalletKey(receipt: JsonObject): readonly Check[] {
  const worker = receipt['to_wallet']
  const wallet = typeof worker === 'string' ? walletOrNull(worker) : null
  const own = wallet === null ? null : walletPublicKey(wallet)
  if (own === null) return []
  const key = publicKeyOf(receipt['public_key'])
  const isOwn = key !== null && Buffer.from(key).equals(own)
  const detail = isOwn
    ? 'the key is the wallet’s own'
    : 'a receipt key: see the worker’s registration'
  return [{ what: 'key of the worker', good: true, detail }]
}
