/** Moves a partner to another wallet; both sign. */
import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { PartnerWalletBody } from '../contract/schemas/partner.ts'
import { isoTime } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { hasUnfinishedJob } from '../db/jobs/jobs.ts'
import { putName } from '../db/names.ts'
import { findPartner, moveWallet, partnerView } from '../db/partners.ts'
import { updateRecord } from '../db/records.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import type { OutcomeOf } from './idempotency.ts'
import { partnerAt } from './partner-access.ts'
import type { BearerProof } from './partner-access.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { verifySignedMessage } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'

export interface WalletWrite
  extends PartnerWrite, Pick<IncomingWrite<PartnerWalletBody>, 'body' | 'admission'> {
  readonly handle: string
  readonly proof: BearerProof
}

/** @throws ApiError 401, 403 for the partner of another wallet, 409 for a wallet in use or with unfinished jobs */
export async function changePartnerWallet(
  deps: ActionDeps,
  write: WalletWrite,
): Promise<OutcomeOf<'changePartnerWallet'>> {
  const { body, handle, proof, rawSha256, request } = write
  const { timestamp, wallet } = body
  const from = { timestamp, handle, oldWallet: proof.sentWallet, wallet }
  const signed = await verifySignedMessage(deps, write, {
    ...body,
    message: () => messages.partnerWallet(deps.site.serviceName, from),
  })
  const statement = { proof: signed, bodySha256: rawSha256 }
  const { nowMs } = request
  return await commitPartnerWrite(deps, { ...write, statement }, async (tx, partner) => {
    if (partner.handle !== handle) {
      throw new ApiError('forbidden', `This wallet belongs to the partner ${partner.handle}`)
    }
    await requireMovable(tx, proof.wallet, signed.wallet)
    const now = isoTime(nowMs)
    const bids = { bidder: proof.wallet.id, status: 'open' } as const
    await updateRecord(tx, 'job_bids', bids, { status: 'lapsed', updatedAt: now })
    await putName(tx, { wallet: proof.wallet.id, kind: 'partner', name: null, now })
    await putName(tx, { wallet: signed.wallet.id, kind: 'partner', name: partner.displayName, now })
    const moved = await moveWallet(tx, partner, { wallet: signed.wallet, now })
    return { status: 200, body: partnerView(partnerAt(moved, nowMs)) }
  })
}

async function requireMovable(tx: DbTransaction, old: Wallet, wallet: Wallet): Promise<void> {
  if ((await findPartner(tx, { wallet: wallet.id })) !== null) {
    throw new ApiError('conflict', 'The new wallet already belongs to a partner')
  }
  if (await hasUnfinishedJob(tx, old.id)) {
    throw new ApiError('conflict', 'Finish or cancel the jobs of the old wallet first')
  }
}
