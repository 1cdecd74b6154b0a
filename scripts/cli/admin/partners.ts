import { loadReference } from '../../../src/actions/reference.ts'
import { priceMicroUsdcOf } from '../../../src/actions/subscriptions/terms.ts'
import { tierName } from '../../../src/contract/schemas/partner.ts'
import { freeOf, granted } from '../../../src/core/partner.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import {
  findPartner,
  listPartners,
  releaseAttestation,
  setSubscription,
} from '../../../src/db/partners.ts'
import type { PartnerRecord } from '../../../src/db/partners.ts'
import { insertRecord } from '../../../src/db/records.ts'
import type { Input } from '../input.ts'
import { dataDir } from '../platforms.ts'
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
  const priceMicroUsdc = priceMicroUsdcOf(await loadReference(dataDir()), tier)
  const given = { tier, priceMicroUsdc, addedMs: days * dayMs }
  return await changeDatabase(
    session,
    { command: `partners set-tier ${tier}`, subject: handle, reason },
    NO_PARTNER,
    async (tx) => {
      const partner = await findPartner(tx, { handle })
      if (partner === null) return null
      const { subscription, fromMs, untilMs } =
        tier === 'free'
          ? { subscription: freeOf(partner.subscription), fromMs: null, untilMs: null }
          : granted(partner.subscription, given, nowMs)
      await setSubscription(tx, handle, subscription, now)
      await insertRecord(tx, 'subscription_changes', {
        handle,
        kind: 'granted',
        paymentId: null,
        tier,
        paidMicroUsdc: 0,
        fromAt: fromMs === null ? null : isoTime(fromMs),
        untilAt: untilMs === null ? null : isoTime(untilMs),
        answer: { reason },
        createdAt: now,
      })
      return view({ ...partner, subscription })
    },
  )
}

function view(partner: PartnerRecord) {
  const { handle, display, subscription, attestationWallet } = partner
  const { tier, status, renewsAtMs } = subscription
  return {
    handle,
    wallet: display,
    tier,
    status,
    renews_at: renewsAtMs === null ? null : isoTime(renewsAtMs),
    attestation_wallet: attestationWallet,
    attestation_url: partner.attestationUrl,
  }
}
