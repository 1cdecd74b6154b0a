import { SIGNED_WINDOW_MS } from '../auth/timestamps.ts'
import { ApiError } from '../contract/errors.ts'
import type {
  PartnerChanges,
  SignupBody,
  OathEntry,
  OwnPartner,
  SignupAnswer,
} from '../contract/schemas/partner.ts'
import { acceptsV1, acceptsV2 } from '../contract/x402.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { keptRows, limitPolicies } from '../core/limits.ts'
import { toUsdc } from '../core/money.ts'
import { newSubscription } from '../core/partner.ts'
import { isoTime, dayMs } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { parseWallet } from '../core/wallet.ts'
import { putName } from '../db/names.ts'
import { appendOath } from '../db/oaths.ts'
import type { OathRow } from '../db/oaths.ts'
import { findPartner, insertPartner, updateProfile, partnerView } from '../db/partners.ts'
import { countRows, selectRecords } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf, WriteRequest } from './idempotency.ts'
import { requireOath } from './oaths.ts'
import { partnerAt, tierOf } from './partner-access.ts'
import type { BearerProof, CurrentPartner } from './partner-access.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { requireTimestamp } from './signed-body.ts'
import { priceMicroUsdcOf, subscriptionTimes, termsOfTier } from './subscriptions/terms.ts'

export interface Signup {
  readonly body: SignupBody
  readonly json: JsonObject
  readonly request: WriteRequest
  readonly proof: BearerProof
}

/** @throws ApiError 401 for the oath, 409 for a taken handle or a wallet with a partner */
export async function signupPartner(
  deps: ActionDeps,
  signup: Signup,
): Promise<OutcomeOf<'signupPartner'>> {
  const { body, json, proof } = signup
  const { wallet, sentWallet } = proof
  const request = { ...signup.request, rows: keptRows.signup }
  const { timestamp, oath_signature: signature } = body
  const time = requireTimestamp(timestamp, request)
  const sworn = { kind: 'partner', json, wallet: sentWallet, timestamp, signature } as const
  const oath = await requireOath(deps, sworn, request)
  // Ensures that the message of the oath is used once.
  const { messageSha256, signatureSha256 } = oath
  const expiresAtMs = time.timestampMs + 2 * SIGNED_WINDOW_MS
  const oathProof = { wallet, messageSha256, signatureSha256, ...time, expiresAtMs }
  const now = isoTime(request.nowMs)
  return await commitOnce(deps, request, [proof, oathProof], async (tx) => {
    await requireFree(tx, body.handle, wallet)
    const at = { action: 'signupPartner', handle: body.handle, createdAt: now }
    const record = await insertPartner(tx, {
      handle: body.handle,
      wallet,
      displayName: body.display_name,
      email: body.email ?? null,
      skills: body.skills ?? [],
      website: body.website ?? null,
      bioShort: body.bio_short ?? null,
      requireBodySignature: false,
      tier: body.tier,
      status: newSubscription(body.tier, request.nowMs).status,
      oathSignedAt: isoTime(oathProof.timestampMs),
      oathSeq: await appendOath(tx, { ...oath, ...at }),
      now,
    })
    const name = body.display_name
    await putName(tx, { wallet: wallet.id, kind: 'partner', name, now })
    return { status: 201, body: signupView(deps, partnerAt(record, request.nowMs)) }
  })
}

async function requireFree(tx: Db, handle: string, wallet: Wallet): Promise<void> {
  if ((await findPartner(tx, { wallet: wallet.id })) !== null) {
    throw new ApiError(
      'conflict',
      'This wallet already belongs to a partner: GET and PATCH /api/v1/partners/me read and change it',
    )
  }
  if ((await findPartner(tx, { handle })) !== null) throw new ApiError('handle_taken')
}

/** Only a body signature can change `require_body_signature`, since a path signature must not remove the protection. */
export async function updatePartner(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: PartnerChanges },
): Promise<OutcomeOf<'updateMyPartner'>> {
  const { body, proof, request } = write
  if (body.require_body_signature !== undefined && proof.binding !== 'body') {
    throw new ApiError('body_signature_required')
  }
  const { nowMs } = request
  return await commitPartnerWrite(deps, write, async (tx, partner) => {
    if (body.display_name !== undefined) {
      const name = body.display_name
      await putName(tx, { wallet: proof.wallet.id, kind: 'partner', name, now: isoTime(nowMs) })
    }
    const record = await updateProfile(tx, partner.handle, {
      displayName: body.display_name ?? partner.displayName,
      skills: body.skills ?? partner.skills,
      website: body.website === undefined ? partner.website : body.website,
      bioShort: body.bio_short === undefined ? partner.bioShort : body.bio_short,
      requireBodySignature: body.require_body_signature ?? partner.requireBodySignature,
      now: isoTime(nowMs),
    })
    return { status: 200, body: partnerView(partnerAt(record, nowMs)) }
  })
}

const USAGE_DAYS = 30

export function signupView(
  deps: Pick<ActionDeps, 'reference' | 'site' | 'payments'>,
  partner: CurrentPartner,
): SignupAnswer {
  const { status, tier } = partner.subscription
  if (status !== 'pending') return partnerView(partner)
  const terms = termsOfTier(deps, partner, {
    tier,
    amountMicroUsdc: priceMicroUsdcOf(deps.reference(), tier),
  })
  const isPayable = deps.payments.mode !== 'off'
  return {
    ...partnerView(partner),
    payment: {
      price_usdc: toUsdc(terms.amountMicroUsdc),
      tier,
      pay_to: terms.resource,
      accepts_v1: isPayable ? [acceptsV1(terms)] : [],
      accepts_v2: isPayable ? [acceptsV2(terms)] : [],
    },
  }
}

/** `callsLeft`: calls that the wallet's rate limit still permits. */
export async function ownPartnerView(
  db: Db,
  { reference }: Pick<ActionDeps, 'reference'>,
  partner: CurrentPartner,
  { callsLeft, nowMs }: { readonly callsLeft: number | null; readonly nowMs: number },
): Promise<OwnPartner> {
  const { wallet_rate_multiplier: multiplier, covers } = tierOf(reference(), partner)
  const since = isoTime(nowMs - USAGE_DAYS * dayMs)
  return {
    ...partnerView(partner),
    require_body_signature: partner.requireBodySignature,
    ...subscriptionTimes(reference(), partner.subscription),
    limits: {
      requests_per_minute: multiplier === null ? null : multiplier * limitPolicies.wallet.quota,
      covers: [...covers],
    },
    usage: {
      requests_remaining: callsLeft,
      writes_30d: await countRows(
        selectRecords(db, 'oath_history', { handle: partner.handle }).where(
          'created_at',
          '>',
          since,
        ),
      ),
    },
  }
}

export function oathView(row: OathRow): OathEntry {
  return {
    kind: row.kind,
    action: row.action,
    wallet: parseWallet(row.wallet).display,
    message_sha256: row.messageSha256,
    signature_sha256: row.signatureSha256,
    binding: row.binding,
    time: row.createdAt,
  }
}
