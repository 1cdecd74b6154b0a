import type { JsonObject, JsonValue } from '../core/canonical-json.ts'
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { walletOrNull, walletPublicKey } from '../core/wallet.ts'
import { verifyEd25519 } from './ed25519.ts'
import { receiptId, signingText } from './messages.ts'
import { publicKeyOrNull } from './signing-key.ts'

const SUBMISSION_FIELDS: ReadonlySet<string> = new Set(['wallet', 'timestamp', 'signature'])

export function receiptOfSubmission(submission: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(submission).filter(([name]) => !SUBMISSION_FIELDS.has(name)),
  )
}

/** Base64 public keys by platform slug. A platform may have several keys. */
export type PlatformKeys = ReadonlyMap<string, string | readonly string[]>

export interface ReceiptVerification {
  readonly receiptId: string
  readonly kind: 'platform' | 'signed' | 'unsigned'
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
  if (kind === 'unsigned') {
    const detail = 'neither worker_signature nor platform_signature is present'
    return { receiptId: id, kind, checks: [...checks, { what: 'signature', good: false, detail }] }
  }
  // The signature covers the receipt or the whole submission.
  const texts = [signingText(receipt), signingText(submission)]
  if (kind === 'signed') {
    checks.push(
      await checkSignature(texts, receipt['worker_signature'], receipt['public_key'], 'worker'),
    )
    checks.push(...checkWalletKey(receipt))
  } else {
    const platform = typeof receipt['platform'] === 'string' ? receipt['platform'] : ''
    const keys = [platforms.get(platform) ?? []].flat()
    const found = await Promise.all(
      (keys.length === 0 ? [undefined] : keys).map((key) =>
        checkSignature(texts, receipt['platform_signature'], key, `platform ${platform}`),
      ),
    )
    checks.push(
      ...[found.find(({ good }) => good) ?? found[0]].filter((verdict) => verdict !== undefined),
    )
  }
  return { receiptId: id, kind, checks }
}

function kindOf(receipt: JsonObject): ReceiptVerification['kind'] {
  if (receipt['platform_signature'] !== undefined) return 'platform'
  return receipt['worker_signature'] === undefined ? 'unsigned' : 'signed'
}

async function checkSignature(
  texts: readonly string[],
  signature: JsonValue | undefined,
  key: JsonValue | undefined,
  signedBy: string,
): Promise<Check> {
  const what = `signature of the ${signedBy}`
  const publicKey = publicKeyOf(key)
  if (publicKey === null) return { what, good: false, detail: 'its public key is unknown' }
  const base64 = typeof signature === 'string' ? signature.replace(/^ed25519:/, '') : ''
  if (!/^[A-Za-z0-9+/]{86}==$/.test(base64)) {
    return { what, good: false, detail: 'must be ed25519: and base64 of 64 bytes' }
  }
  for (const text of texts) {
    const verdict = verifyEd25519(text, Buffer.from(base64, 'base64'), publicKey)
    if (verdict.valid)
      return { what, good: true, detail: `by ${Buffer.from(publicKey).toString('base64')}` }
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
