/** Only a keyed hash of the address is stored. */

import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { EmailClaimBody, EmailCodeBody } from '../contract/schemas/claim.ts'
import type { Random } from '../core/deps.ts'
import { redact } from '../core/redact.ts'
import { hourMs, isoTime, minuteMs } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import {
  countSends,
  countWrongTry,
  deleteEmailCode,
  deleteOldCodes,
  findClaim,
  findEmailCode,
  putEmailCode,
  recordSend,
} from '../db/claims.ts'
import type { Db } from '../db/schema.ts'
import { findWorker } from '../db/workers.ts'
import { recordClaim } from './claim-record.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce, priorAnswer } from './idempotency.ts'
import type { OutcomeOf, WriteRequest } from './idempotency.ts'
import { requireWallet } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'

const CODE_LIFE_MS = 15 * minuteMs
const MAX_TRIES = 5
const MAX_SENDS = { toEmail: 3, fromRemote: 10 } as const

/** Sends a code (202) before it becomes valid. A claimed address gets another e-mail but the same response. */
export async function sendClaimCode(
  deps: ActionDeps,
  write: IncomingWrite<EmailClaimBody>,
): Promise<OutcomeOf<'claimSpot'>> {
  const { body, request, fingerprint } = write
  const prior = await priorAnswer<AnswerOf<'claimSpot'>>(deps, request, [])
  if (prior !== null) return prior
  const { nowMs } = request
  const emailHash = hashOf(deps, body.email)
  const remoteHash = deps.keyedHash('email-fingerprint', fingerprint.network)
  const wallet = body.wallet === undefined ? null : requireWallet(body.wallet, 'wallet')
  const code = sixDigits(deps.random)
  const isClaimed = await deps.outboundLimits.mail(async () => {
    const hasClaim = await deps.database.write(async (tx) => {
      await requireFreeWallet(tx, wallet)
      await countSend(tx, { emailHash, remoteHash, nowMs })
      return (await findClaim(tx, { emailHash })) !== null
    })
    const lines = hasClaim ? alreadyClaimedText(deps) : codeText(deps, code, wallet)
    await sendEmail(deps, body.email, lines)
    return hasClaim
  })
  const expiresAt = isoTime(nowMs + CODE_LIFE_MS)
  return await commitOnce(deps, request, [], async (tx) => {
    if (!isClaimed) {
      await putEmailCode(tx, {
        emailHash,
        codeHash: codeHashOf(deps, emailHash, code),
        displayName: body.display_name,
        wallet: wallet?.id ?? null,
        expiresAt,
      })
    }
    return {
      status: 202,
      body: { status: 'code_sent', expires_at: expiresAt, docs: `${deps.siteUrl}/docs` },
    }
  })
}

export async function claimWithCode(
  deps: ActionDeps,
  body: EmailCodeBody,
  request: WriteRequest,
): Promise<OutcomeOf<'claimSpot'>> {
  const emailHash = hashOf(deps, body.email)
  const codeHash = codeHashOf(deps, emailHash, body.code)
  const now = isoTime(request.nowMs)
  return await commitOnce(deps, request, [], async (tx) => {
    const emailCode = await findEmailCode(tx, emailHash)
    // One error for all cases, so that it does not reveal which addresses have a code.
    if (emailCode === null || emailCode.expiresAt <= now || emailCode.tries >= MAX_TRIES) {
      return { refused: new ApiError('code_invalid') }
    }
    if (emailCode.codeHash !== codeHash) {
      await countWrongTry(tx, emailHash)
      return { refused: new ApiError('code_invalid') }
    }
    const wallet = emailCode.wallet === null ? null : requireWallet(emailCode.wallet, 'wallet')
    if ((await findClaim(tx, { emailHash })) !== null) {
      throw new ApiError('spot_claimed', 'This address has already claimed a spot')
    }
    await requireFreeWallet(tx, wallet)
    await deleteEmailCode(tx, emailHash)
    const { displayName } = emailCode
    return await recordClaim(tx, deps.siteUrl, { wallet, displayName, emailHash, now })
  })
}

/** @throws ApiError 409: an e-mail address cannot take a spot claimed by a wallet or another address. */
async function requireFreeWallet(tx: Db, wallet: Wallet | null): Promise<void> {
  if (wallet === null) return
  const isTaken =
    (await findClaim(tx, { wallet: wallet.id })) !== null ||
    (await findWorker(tx, wallet.id)) !== null
  if (isTaken)
    throw new ApiError('spot_claimed', 'This spot was claimed with the key of the wallet')
}

async function countSend(
  tx: Db,
  send: { readonly emailHash: string; readonly remoteHash: string; readonly nowMs: number },
): Promise<void> {
  const { nowMs } = send
  const now = isoTime(nowMs)
  const anHourAgo = isoTime(nowMs - hourMs)
  await deleteOldCodes(tx, { codes: now, sends: anHourAgo })
  const { toEmail, fromRemote } = await countSends(tx, send, anHourAgo)
  if (toEmail >= MAX_SENDS.toEmail || fromRemote >= MAX_SENDS.fromRemote) {
    throw new ApiError('rate_limited', 'Too many codes in the last hour', {
      headers: { 'Retry-After': String(hourMs / 1000) },
    })
  }
  await recordSend(tx, { ...send, sentAt: now })
}

/** Names the wallet, so that recipients notice a claim by a stranger. */
function codeText(
  { siteUrl }: Pick<ActionDeps, 'siteUrl'>,
  code: string,
  wallet: Wallet | null,
): readonly string[] {
  const spot = wallet === null ? 'a spot' : `the spot of the wallet ${wallet.display}`
  return [
    `Your code is ${code}.`,
    '',
    `It is valid for ${CODE_LIFE_MS / minuteMs} minutes and claims ${spot} on the leaderboard of ${siteUrl} with this address.`,
    'If you did not request it, ignore this e-mail and do not share the code.',
  ]
}

function alreadyClaimedText({ siteUrl }: Pick<ActionDeps, 'siteUrl'>): readonly string[] {
  return [
    `Someone requested a code to claim a spot on the leaderboard of ${siteUrl} with this address.`,
    'This address has already claimed its spot, so no code was created.',
  ]
}

async function sendEmail(deps: ActionDeps, to: string, lines: readonly string[]): Promise<void> {
  try {
    const subject = 'Your code for the Agent Income Ledger'
    await deps.mail({ to, subject, text: [...lines, ''].join('\n') })
  } catch (error) {
    const reason = redact(error instanceof Error ? error.message : String(error))
    deps.log.error('an e-mail could not be sent', { reason: reason.replaceAll(to, '[address]') })
    throw new ApiError('unavailable', 'The e-mail could not be sent')
  }
}

function hashOf(deps: Pick<ActionDeps, 'keyedHash'>, email: string): string {
  return deps.keyedHash('email', email.toLowerCase())
}

function codeHashOf(deps: Pick<ActionDeps, 'keyedHash'>, emailHash: string, code: string): string {
  return deps.keyedHash('email-code', `${emailHash}\n${code}`)
}

/** Repeats numbers above the last whole million, so that all codes are equally likely. */
function sixDigits(random: Pick<Random, 'bytes'>): string {
  const million = 1_000_000
  const limit = Math.floor(2 ** 32 / million) * million
  for (;;) {
    const number = Buffer.from(random.bytes(4)).readUInt32BE(0)
    if (number < limit) return String(number % million).padStart(6, '0')
  }
}
