import { messages } from '../auth/messages.ts'
import type { ClaimBody, WalletClaimBody } from '../contract/schemas/claim.ts'
import { isoTime } from '../core/time.ts'
import { appendOath } from '../db/oaths.ts'
import type { Db } from '../db/schema.ts'
import { recordClaim } from './claim-record.ts'
import type { ActionDeps } from './deps.ts'
import { claimWithCode, requireNoSignedClaim, sendClaimCode } from './email-claims.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { oathRow, requireOath } from './oaths.ts'
import { verifySignedBody } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'
import { chargeNetworkQuota } from './write-quotas.ts'

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
  const { body, json, request, fingerprint } = write
  const proof = await verifySignedBody(deps, write, { json, ...body, message: messages.claim })
  const signature = body.oath_signature
  const oath = await requireOath(deps, { kind: 'claim', json, ...body, signature }, request)
  const { email } = body
  const now = isoTime(request.nowMs)
  const recordSigned = async (tx: Db): Promise<void> => {
    await chargeNetworkQuota(tx, deps, { kind: 'registration', fingerprint, nowMs: request.nowMs })
    await appendOath(tx, oathRow(oath, { action: 'claimSpot', handle: null, now }))
  }
  if (email !== undefined) {
    return await sendClaimCode(deps, write, { ...body, email }, { proof, recordSigned })
  }
  return await commitOnce(deps, request, [proof], async (tx) => {
    const before = await requireNoSignedClaim(tx, proof.wallet)
    await recordSigned(tx)
    return await recordClaim(tx, deps.site.url, {
      wallet: proof.wallet,
      method: 'wallet',
      displayName: body.display_name,
      emailHash: null,
      now,
      ...(before === null ? {} : { replaced: before.id }),
    })
  })
}
