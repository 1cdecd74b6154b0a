import { tierName } from '../../../src/contract/schemas/partner.ts'
import { grantTier } from '../../../src/core/partner.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { findPartner, listPartners, releaseAttestation } from '../../../src/db/partners/partners.ts'
import type { PartnerRecord } from '../../../src/db/partners/record.ts'
import { appendSubscriptionChange, setSubscription } from '../../../src/db/partners/subscription.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { changeDatabase, printRows } from './settings.ts'

export async function listAllPartners(session: Session): Promise<void> {
  const columns = ['handle', 'tier', 'status', 'renews_at', 'wallet', 'attestation_wallet']
  await printRows(session, 'partners', columns, async (reader) =>
    (await listPartners(reader)).map(view),
  )
}

export async function releaseWallet(session: Session, input: Input): Promise<number> {
  const handle = input.required('handle')
  const reason = input.required('reason')
  const now = isoTime(session.clock.now())
  const next = 'the next signature by a wallet of its oath history binds that wallet'
  return await changeDatabase(
    session,
    { command: 'partners release-wallet', subject: handle, reason },
    NO_PARTNER,
    async (tx) =>
      (await releaseAttestation(tx, handle, now))
        ? { handle, attestation_wallet: null, next }
        : null,
  )
}

const NO_PARTNER = 'No partner has this handle.'
const DEFAULT_DAYS = '30'

export async function setTier(session: Session, input: Input): Promise<number> {
  const handle = input.required('handle')
  const reason = input.required('reason')
  const tier = tierName.parse(input.required('tier'))
  const days = Number(input.text('days') ?? DEFAULT_DAYS)
  const nowMs = session.clock.now()
  const now = isoTime(nowMs)
  const isFree = tier === 'free'
  return await changeDatabase(
    session,
    { command: `partners set-tier ${tier}`, subject: handle, reason },
    NO_PARTNER,
    async (tx) => {
      const partner = await findPartner(tx, { handle })
      if (partner === null) return null
      const subscription = grantTier(partner.subscription, { tier, days }, nowMs)
      await setSubscription(tx, handle, subscription, now)
      await appendSubscriptionChange(tx, {
        handle,
        kind: 'granted',
        paymentId: null,
        tier,
        priceMicroUsdc: 0,
        paidMicroUsdc: 0,
        creditMicroUsdc: 0,
        fromAt: isFree ? null : now,
        untilAt: isFree ? null : isoTime(nowMs + days * dayMs),
        answer: { reason },
        createdAt: now,
      })
      return view({ ...partner, subscription })
    },
  )
}

function view(partner: PartnerRecord) {
  const { handle, display, subscription, attestation } = partner
  const { tier, status, renewsAtMs } = subscription
  return {
    handle,
    wallet: display,
    tier,
    status,
    renews_at: renewsAtMs === null ? null : isoTime(renewsAtMs),
    attestation_wallet: attestation.wallet,
    attestation_url: attestation.url,
  }
}
