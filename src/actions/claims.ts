import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import { apiPrefix } from '../contract/route.ts'
import type {
  ClaimBody,
  WalletClaimBody,
  EmailClaimBody,
  EmailCodeBody,
} from '../contract/schemas/claim.ts'
import { entriesOf } from '../core/entries.ts'
import { emailQuotas, keptRows } from '../core/limits.ts'
import { redact } from '../core/redact.ts'
import { isoTime, hourMs, minuteMs } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { parseWallet } from '../core/wallet.ts'
import { countSends, deleteOldCodes } from '../db/claims.ts'
import type { ClaimRecord, EmailSend } from '../db/claims.ts'
import { rankOf } from '../db/leaderboard.ts'
import { putName } from '../db/names.ts'
import { appendOath } from '../db/oaths.ts'
import { receiptRows } from '../db/receipts/receipts.ts'
import { deleteRecords, findRecord, insertRecord, updateRecord } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import { findWorker } from '../db/workers.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce, firstAnswer, requireFresh } from './idempotency.ts'
import type { OutcomeOf, SignedProof, WriteRequest } from './idempotency.ts'
import { requireOath } from './oaths.ts'
import { verifySignedBody, requireWallet } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'

export async function claimSpot(
  deps: ActionDeps,
  write: IncomingWrite<ClaimBody>,
): Promise<OutcomeOf<'claimSpot'>> {
  const { body, request } = write
  if ('signature' in body) return await claimByWallet(deps, { ...write, body })
  return 'code' in body
    ? await claimWithCode(deps, body, request)
    : await sendClaimCode(deps, write, body, null)
}

async function claimByWallet(
  deps: ActionDeps,
  write: IncomingWrite<WalletClaimBody>,
): Promise<OutcomeOf<'claimSpot'>> {
  const { body, json } = write
  const request = { ...write.request, rows: keptRows.claim }
  const proof = await verifySignedBody(deps, write, messages.claim)
  const signature = body.oath_signature
  const oath = await requireOath(deps, { kind: 'claim', json, ...body, signature }, request)
  const { email } = body
  const now = isoTime(request.nowMs)
  const recordSigned = async (tx: Db): Promise<void> => {
    await appendOath(tx, { ...oath, action: 'claimSpot', createdAt: now })
  }
  if (email !== undefined) {
    return await sendClaimCode(deps, write, { ...body, email }, { proof, recordSigned })
  }
  return await commitOnce(deps, request, [proof], async (tx) => {
    const before = await requireNoSignedClaim(tx, proof.wallet)
    await recordSigned(tx)
    const facts = { displayName: body.display_name, emailHash: null, claimedAt: now }
    const claim = { wallet: proof.wallet.id, method: 'wallet', ...facts } as const
    return await recordClaim(tx, deps.site.url, claim, before)
  })
}

interface SignedClaim {
  readonly proof: SignedProof
  /** Stores the rows of a signed claim other than the code. */
  readonly recordSigned: (tx: Db) => Promise<void>
}

const CODE_LIFE_MS = 15 * minuteMs

/**
 * Sends a code (202) before it becomes valid. A claimed address gets another e-mail but the same response. `signed`: the
 * wallet has signed the claim.
 */
async function sendClaimCode(
  deps: ActionDeps,
  { request, fingerprint }: Pick<IncomingWrite<ClaimBody>, 'request' | 'fingerprint'>,
  body: EmailClaimBody,
  signed: SignedClaim | null,
): Promise<OutcomeOf<'claimSpot'>> {
  const proofs = signed === null ? [] : [signed.proof]
  const prior = await firstAnswer<AnswerOf<'claimSpot'>>(deps.database.reader, request, proofs)
  if (prior !== null) return prior
  await requireFresh(deps, request, proofs)
  const { nowMs } = request
  const emailHash = hashOf(deps, body.email)
  const { range } = fingerprint
  const send: EmailSend = {
    emailHash: deps.keys.hash('email-limit', mailboxOf(body.email)),
    remoteHash: deps.keys.hash('email-fingerprint', fingerprint.network),
    rangeHash: range === null ? null : deps.keys.hash('email-fingerprint', range),
  }
  const wallet = body.wallet === undefined ? null : requireWallet(body.wallet, 'wallet')
  // 40 bits, too many to guess in 15 minutes within the request limits of networks.
  const symbols = Array.from(deps.random.bytes(8), (byte) => codeCharacters[byte % 32])
  const code = symbols.join('')
  const isClaimed = await deps.outboundLimits.mail.run(async () => {
    request.chargeOutbound()
    const hasClaim = await deps.database.write(async (tx) => {
      if (signed === null) await requireUnprovenWallet(tx, wallet)
      else await requireNoSignedClaim(tx, signed.proof.wallet)
      await countSend(tx, send, nowMs)
      return (await findRecord(tx, 'claims', { emailHash })) !== null
    })
    const lines = hasClaim ? alreadyClaimedText(deps) : codeText(deps, { ...body, code }, wallet)
    await sendEmail(deps, body.email, lines)
    return hasClaim
  })
  const expiresAt = isoTime(nowMs + CODE_LIFE_MS)
  const terms = { ...request, rows: proofs.length }
  return await commitOnce(deps, terms, proofs, async (tx) => {
    await signed?.recordSigned(tx)
    if (!isClaimed) {
      const emailCode = {
        emailHash,
        codeHash: codeHashOf(deps, emailHash, code),
        displayName: body.display_name,
        wallet: wallet?.id ?? null,
        signed: signed === null ? 0 : 1,
        used: 0,
        expiresAt,
      } as const
      await insertRecord(tx, 'email_codes', emailCode)
    }
    return {
      status: 202,
      body: { status: 'code_sent', expires_at: expiresAt, docs: `${deps.site.url}/docs` },
    }
  })
}

async function claimWithCode(
  deps: ActionDeps,
  body: EmailCodeBody,
  request: WriteRequest,
): Promise<OutcomeOf<'claimSpot'>> {
  const emailHash = hashOf(deps, body.email)
  const codeHash = codeHashOf(deps, emailHash, body.code)
  const now = isoTime(request.nowMs)
  const terms = { ...request, rows: keptRows.claim }
  return await commitOnce(deps, terms, [], async (tx) => {
    const emailCode = await findRecord(tx, 'email_codes', { emailHash, codeHash })
    // One error for all cases, so that it does not reveal which addresses have a code.
    if (emailCode === null || emailCode.expiresAt <= now) throw new ApiError('code_invalid')
    const made = await findRecord(tx, 'claims', { emailHash })
    if (made !== null) {
      if (emailCode.used === 1) return await claimAnswer(tx, deps.site.url, made, 200)
      throw new ApiError(
        'spot_claimed',
        'This address has already claimed a spot: use another address',
      )
    }
    const { displayName, signed } = emailCode
    const wallet = emailCode.wallet === null ? null : requireWallet(emailCode.wallet, 'wallet')
    if (signed === 0) await requireUnprovenWallet(tx, wallet)
    const before = wallet === null ? null : await requireNoSignedClaim(tx, wallet)
    await updateRecord(tx, 'email_codes', { emailHash, codeHash }, { used: 1 })
    const method = signed === 1 ? 'wallet' : 'email'
    const claim = {
      wallet: emailCode.wallet,
      method,
      displayName,
      emailHash,
      claimedAt: now,
    } as const
    return await recordClaim(tx, deps.site.url, claim, before)
  })
}

/** Returns the e-mail claim of the wallet, if any. @throws ApiError `spot_claimed` for a claim that its key has signed */
async function requireNoSignedClaim(tx: Db, wallet: Wallet): Promise<ClaimRecord | null> {
  const claim = await findRecord(tx, 'claims', { wallet: wallet.id })
  if (claim?.method !== 'wallet') return claim
  throw new ApiError(
    'spot_claimed',
    'This wallet has already claimed its spot: nothing is left to claim',
  )
}

/**
 * An e-mail proves nothing about a wallet, so it cannot claim one that its owner uses.
 * @throws ApiError `wallet_needs_key`; `spot_claimed` for an e-mail claim of another address
 */
async function requireUnprovenWallet(tx: Db, wallet: Wallet | null): Promise<void> {
  if (wallet === null) return
  const claim = await findRecord(tx, 'claims', { wallet: wallet.id })
  if (claim?.method === 'email') {
    throw new ApiError(
      'spot_claimed',
      'Another e-mail address has claimed this wallet: send a claim that its key signs',
    )
  }
  const isUsed =
    claim !== null ||
    (await findWorker(tx, wallet.id)) !== null ||
    (await receiptRows({ wallet: wallet.id }).read(tx, { limit: 1, before: null })).length > 0
  if (!isUsed) return
  throw new ApiError(
    'wallet_needs_key',
    'The wallet is registered, has receipts or has signed a claim; send a claim that its key signs, with `email` if an address belongs to it',
  )
}

async function countSend(tx: Db, send: EmailSend, nowMs: number): Promise<void> {
  const now = isoTime(nowMs)
  const anHourAgo = isoTime(nowMs - hourMs)
  await deleteOldCodes(tx, { codes: now, sends: anHourAgo })
  const counts = await countSends(tx, send, anHourAgo)
  const isOver = entriesOf(emailQuotas).some(([who, most]) => counts[who] >= most)
  if (isOver) {
    throw new ApiError('rate_limited', 'Too many codes in the last hour', {
      headers: { 'Retry-After': String(hourMs / 1000) },
    })
  }
  await insertRecord(tx, 'email_sends', { ...send, sentAt: now })
}

/** States the name and the wallet, so that recipients notice a claim by a stranger. */
function codeText(
  { site }: Pick<ActionDeps, 'site'>,
  { email, code, display_name: name }: EmailClaimBody & EmailCodeBody,
  wallet: Wallet | null,
): readonly string[] {
  const spot = wallet === null ? 'a spot' : `the spot of the wallet ${wallet.display}`
  return [
    `Your code is ${code}.`,
    '',
    `It is valid for ${CODE_LIFE_MS / minuteMs} minutes and claims ${spot} under the name “${name}” on the leaderboard of ${site.url} with this address.`,
    `To claim the spot, send ${JSON.stringify({ email, code })} to POST ${site.url}${apiPrefix}/claim, or run:`,
    `agent-income-ledger claim --email <this address> --code ${code} --ledger ${site.url}`,
    '',
    'If you did not request it, ignore this e-mail and do not share the code.',
  ]
}

function alreadyClaimedText({ site }: Pick<ActionDeps, 'site'>): readonly string[] {
  return [
    `Someone requested a code to claim a spot on the leaderboard of ${site.url} with this address.`,
    'This address has already claimed its spot, so no code was created.',
  ]
}

async function sendEmail(deps: ActionDeps, to: string, lines: readonly string[]): Promise<void> {
  try {
    const subject = 'Your code for the Agent Income Ledger'
    await deps.outbound.mail({ to, subject, text: [...lines, ''].join('\n') })
  } catch (error) {
    const reason = redact(error instanceof Error ? error.message : String(error))
    deps.log.error('an e-mail could not be sent', { reason: reason.replaceAll(to, '[address]') })
    throw new ApiError('unavailable', 'The e-mail could not be sent')
  }
}

/** Only this keyed hash of the address is stored. */
function hashOf(deps: Pick<ActionDeps, 'keys'>, email: string): string {
  return deps.keys.hash('email', email.toLowerCase())
}

/** The address without the parts that many providers ignore: dots, and text after a plus. For limits only. */
function mailboxOf(email: string): string {
  const [local = '', domain = ''] = email.toLowerCase().split('@')
  return `${local.split('+', 1)[0]?.replaceAll('.', '')}@${domain}`
}

function codeHashOf(deps: Pick<ActionDeps, 'keys'>, emailHash: string, code: string): string {
  return deps.keys.hash('email-code', `${emailHash}\n${code.toUpperCase()}`)
}

/** Without I, L, O and U, which are mistaken for others. */
const codeCharacters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Stores a claim in place of `before`, and returns its answer. The name of an e-mail claim is never published. */
async function recordClaim(
  tx: Db,
  siteUrl: string,
  claim: Omit<ClaimRecord, 'id'>,
  before: ClaimRecord | null,
): Promise<OutcomeOf<'claimSpot'>> {
  const { wallet, method, displayName: name, claimedAt: now } = claim
  if (before !== null) await deleteRecords(tx, 'claims', { id: before.id })
  await insertRecord(tx, 'claims', claim)
  if (wallet !== null && method === 'wallet') {
    await putName(tx, { wallet, kind: 'claim', name, now })
  }
  return await claimAnswer(tx, siteUrl, claim, 201)
}

async function claimAnswer(
  tx: Db,
  siteUrl: string,
  { wallet, method, displayName, claimedAt }: Omit<ClaimRecord, 'id' | 'emailHash'>,
  status: 200 | 201,
): Promise<OutcomeOf<'claimSpot'>> {
  const isSigned = method === 'wallet'
  return {
    status,
    body: {
      wallet: wallet === null ? null : parseWallet(wallet).display,
      display_name: displayName,
      claimed: isSigned,
      claim: isSigned ? 'key' : 'email',
      rank: wallet === null ? null : await rankOf(tx, wallet, Date.parse(claimedAt)),
      claimed_at: claimedAt,
      next: `${siteUrl}${apiPrefix}/partners/signup`,
      docs: `${siteUrl}/docs`,
    },
  }
}
