/** Only the bound wallet can change the endpoint. If none is bound, any wallet of the partner's oath history can. */

import { messages, sha256Hex } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { AttestationBody } from '../contract/schemas/partner.ts'
import { keptRows } from '../core/limits.ts'
import { checkOutboundUrl } from '../core/outbound-url.ts'
import { isoTime } from '../core/time.ts'
import { appendOath } from '../db/oaths.ts'
import { findPartner, moveAttestation, partnerView } from '../db/partners.ts'
import type { AttestationBinding, PartnerRecord } from '../db/partners.ts'
import { findRecord } from '../db/records.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf, SignedProof } from './idempotency.ts'
import { partnerAt } from './partner-access.ts'
import { writeRow } from './partner-write.ts'
import { invalidField, verifySignedMessage } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'
import { enforcePartnerWriteQuota } from './write-quotas.ts'

export interface AttestationWrite extends Pick<
  IncomingWrite<AttestationBody>,
  'body' | 'request' | 'admission'
> {
  readonly handle: string
  readonly rawSha256: string
}

/** Does not call the URL. @throws ApiError 400, 401, 403 for another wallet, 404, 409 after a concurrent change */
export async function setAttestationEndpoint(
  deps: ActionDeps,
  write: AttestationWrite,
): Promise<OutcomeOf<'updateAttestationEndpoint'>> {
  const { handle, body, request } = write
  const checked = checkOutboundUrl(body.url)
  if (!checked.ok) throw invalidField('url', checked.problem)
  const { url, timestamp } = body
  const message = () =>
    messages.attestationEndpoint(deps.site.serviceName, { timestamp, handle, url })
  const proof = await verifySignedMessage(deps, write, { ...body, message })
  const before = await findPartner(deps.database.reader, { handle })
  const terms = { ...request, rows: keptRows.partnerWrite }
  return await commitOnce(deps, terms, [proof], async (tx) => {
    const { nowMs } = request
    const current = await findPartner(tx, { handle })
    if (current === null) throw new ApiError('unknown_partner')
    const partner = partnerAt(current, nowMs)
    // The subscription may have been cancelled in the meantime.
    if (partner.subscription.status === 'cancelled') {
      throw new ApiError(
        'not_a_partner',
        'The subscription of this partner is cancelled: the partner must choose a tier first',
      )
    }
    const seen = before ?? current
    await requireRight(tx, seen, proof)
    await enforcePartnerWriteQuota(tx, deps, partner, nowMs)
    return await bind(tx, write, proof, { before: seen, current })
  })
}

async function requireRight(
  tx: DbTransaction,
  { handle, attestationWallet: bound }: PartnerRecord,
  { wallet }: SignedProof,
): Promise<void> {
  if (bound !== null) {
    if (bound === wallet.id) return
    throw new ApiError(
      'forbidden',
      'The endpoint is bound to another wallet: sign with that wallet',
    )
  }
  const own = { handle, wallet: wallet.id }
  if ((await findRecord(tx, 'oath_history', own)) !== null) return
  throw new ApiError(
    'forbidden',
    'The wallet is not in the oath history of this partner: sign with the wallet of the partner',
  )
}

/** Compare-and-set. */
async function bind(
  tx: DbTransaction,
  { handle, body, request, rawSha256 }: AttestationWrite,
  proof: SignedProof,
  { before, current }: { readonly before: AttestationBinding; readonly current: PartnerRecord },
): Promise<OutcomeOf<'updateAttestationEndpoint'>> {
  const { nowMs } = request
  const action = 'updateAttestationEndpoint'
  const written = { handle, nowMs, bodySha256: rawSha256, binding: 'statement' } as const
  if (!isSame(current, before)) {
    throw new ApiError(
      'conflict',
      'Another request has changed the endpoint: read the partner, then sign again',
    )
  }
  const { attestationSignedAt: signedAt } = current
  if (signedAt !== null && proof.timestampMs < Date.parse(signedAt)) {
    throw new ApiError(
      'conflict',
      'The stored endpoint was signed later than this one: sign again with the current time',
    )
  }
  const oathSeq = await appendOath(tx, writeRow(proof, { ...written, action }))
  const record = await moveAttestation(tx, handle, before, {
    attestationWallet: proof.wallet.id,
    attestationUrl: body.url,
    attestationSignatureSha256: sha256Hex(body.signature),
    attestationSignedAt: isoTime(proof.timestampMs),
    attestationOathSeq: oathSeq,
    updatedAt: isoTime(nowMs),
  })
  if (record === null) throw new Error('attestation binding changed within one transaction')
  return { status: 200, body: partnerView(partnerAt(record, nowMs)) }
}

function isSame(a: AttestationBinding, b: AttestationBinding): boolean {
  return (
    a.attestationOathSeq === b.attestationOathSeq && a.attestationWallet === b.attestationWallet
  )
}
