/** Checks of receipts and scores, from their content alone. */
import { verifyEd25519 } from '../auth/ed25519.ts'
import { receiptId, signingText } from '../auth/messages.ts'
import { SigningKeyError, publicKeyFromBase64 } from '../auth/signing-key.ts'
import type { Reputation, ReputationEntry } from '../contract/schemas/reputation.ts'
import type { JsonObject, JsonValue } from '../core/canonical-json.ts'
import { parseUsdc } from '../core/money.ts'
import { applyEntry, noStanding, reputationFormula, scoreAt } from '../core/reputation.ts'
import { parseTime } from '../core/time.ts'
import { WalletError, parseWallet, walletPublicKey } from '../core/wallet.ts'
import type { Check } from './verify.ts'

/** Fields of a submission that do not belong to the receipt. */
const SUBMISSION_FIELDS: ReadonlySet<string> = new Set(['wallet', 'timestamp', 'signature'])

/** The receipt in a submission: the body without sender, time and signature. */
export function receiptOfSubmission(submission: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(submission).filter(([name]) => !SUBMISSION_FIELDS.has(name)),
  )
}

/** Base64 public keys of platforms by slug; with several, any of them may have signed. */
export type PlatformKeys = ReadonlyMap<string, string | readonly string[]>

export interface ReceiptVerification {
  readonly receiptId: string
  readonly kind: 'platform' | 'signed' | 'unsigned'
  readonly checks: readonly Check[]
}

/**
 * Checks the id and the signature of a receipt, or of the receipt in a submission. Whether the payment happened is not
 * checked: only its chain shows that.
 * @param expectedId the id under which the receipt was found.
 */
export async function verifyReceipt(
  submission: JsonObject,
  platforms: PlatformKeys,
  expectedId: string | null = null,
): Promise<ReceiptVerification> {
  const receipt = receiptOfSubmission(submission)
  const id = receiptId(receipt)
  const checks: Check[] = []
  if (expectedId !== null) {
    checks.push({
      what: 'receipt id',
      good: id === expectedId,
      detail: `the content hashes to ${id}`,
    })
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
      ...[found.find(({ good }) => good) ?? found[0]].filter((check) => check !== undefined),
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
  return { what, good: false, detail: 'the content differs from what was signed' }
}

function publicKeyOf(key: JsonValue | undefined): Uint8Array | null {
  if (typeof key !== 'string') return null
  try {
    return publicKeyFromBase64(key.replace(/^ed25519:/, ''))
  } catch (error) {
    if (error instanceof SigningKeyError) return null
    throw error
  }
}

/** Says whether the signing key is the worker's wallet itself, where that wallet is an ed25519 key. */
function checkWalletKey(receipt: JsonObject): readonly Check[] {
  const worker = receipt['to_wallet']
  const own = typeof worker === 'string' ? ed25519KeyOf(worker) : null
  if (own === null) return []
  const key = publicKeyOf(receipt['public_key'])
  const isOwn = key !== null && Buffer.from(key).equals(own)
  const detail = isOwn
    ? 'the key is the wallet’s own'
    : 'a receipt key: see the worker’s registration'
  return [{ what: 'key of the worker', good: true, detail }]
}

function ed25519KeyOf(wallet: string): Uint8Array | null {
  try {
    return walletPublicKey(parseWallet(wallet))
  } catch (error) {
    if (error instanceof WalletError) return null
    throw error
  }
}

/** Reads all entries page by page; score, totals and time are those of the first page. */
export async function fetchWholeReputation(
  readPage: (query: { readonly limit: string; readonly cursor?: string }) => Promise<Reputation>,
): Promise<Reputation> {
  const limit = '200'
  const { next_cursor: second, ...first } = await readPage({ limit })
  const entries = [...first.entries]
  for (let cursor = second; cursor !== undefined;) {
    const page = await readPage({ limit, cursor })
    entries.push(...page.entries)
    cursor = page.next_cursor
  }
  return { ...first, entries }
}

/** Recomputes a score by the published formula: entries in the order of their numbers, scaled to the answer's time. */
export function verifyScore(reputation: Reputation): readonly Check[] {
  const entries = reputation.entries.toSorted((left, right) => left.seq - right.seq)
  const nowMs = parseTime(reputation.computed_at) ?? Number.NaN
  const sum = entries.reduce((sum, entry) => applyEntry(sum, effectOf(entry)), noStanding)
  const score = scoreAt(sum.decayedSumAtEpoch, nowMs)
  const isWhole = entries.length === reputation.entries_total
  const wrong = entries.find((entry) => !hasRightDelta(entry))
  return [
    {
      what: 'formula',
      good: reputation.formula === reputationFormula,
      detail: 'compared with the published one',
    },
    {
      what: 'entries',
      good: wrong === undefined,
      detail:
        wrong === undefined
          ? `${entries.length} of ${reputation.entries_total}, each equal to its amount times its weight`
          : `entry ${wrong.seq} is not its amount times its weight`,
    },
    {
      what: 'score',
      // Two computations may differ by rounding to six decimals.
      good: isWhole && Math.abs(score - reputation.rep_score) <= 0.000_001,
      detail: isWhole
        ? `${score} recomputed, ${reputation.rep_score} in the answer`
        : `only ${entries.length} of ${reputation.entries_total} entries are listed, with a sum of ${score} of ${reputation.rep_score}`,
    },
  ]
}

function effectOf(entry: ReputationEntry) {
  return {
    kind: entry.kind,
    amountMicroUsdc: parseUsdc(entry.amount_usdc) ?? Number.NaN,
    weight: entry.weight,
    valueMicroUsdc: Math.round(entry.delta * 1_000_000),
    countsFrom: entry.counts_from,
    createdAt: entry.created_at,
  }
}

/** Allows a difference of one micro-USDC, since amounts are rounded down when they are written. */
function hasRightDelta(entry: ReputationEntry): boolean {
  const worth = entry.amount_usdc * entry.weight
  const sign = entry.kind === 'receipt_reversed' ? -1 : 1
  return Math.abs(sign * entry.delta - worth) <= 0.000_002
}
