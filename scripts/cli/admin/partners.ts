/** Partners, as far as an operator may move them. */
import { tierName } from '../../../src/contract/schemas/partner.ts'
import { grantTier } from '../../../src/core/partner.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { releaseAttestation } from '../../../src/db/partners/attestation.ts'
import { findPartner, listPartners } from '../../../src/db/partners/partners.ts'
import type { PartnerRecord } from '../../../src/db/partners/record.ts'
import { appendSubscriptionChange } from '../../../src/db/partners/subscription-changes.ts'
import { setSubscription } from '../../../src/db/partners/subscription.ts'
import { exitCodes } from '../command.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { table } from '../output.ts'
import type { Session } from '../session.ts'
import { recordAct, withDatabase } from './settings.ts'

export async function list(session: Session): Promise<void> {
  const partners = (await withDatabase(session, ({ reader }) => listPartners(reader), true)).map(
    view,
  )
  const columns = ['handle', 'tier', 'status', 'renews_at', 'wallet', 'attestation_wallet']
  session.print({ count: partners.length, partners }, table(columns, partners))
}

export async function releaseWallet(session: Session, input: Input): Promise<number> {
  const handle = input.operand('handle')
  const reason = input.needed('reason')
  const now = isoTime(session.clock.now())
  return await withDatabase(session, async (database, config) => {
    if (!(await database.write((tx) => releaseAttestation(tx, handle, now)))) {
      session.warn('There is no such partner.\n')
      return exitCodes.refused
    }
    await recordAct(session, config, {
      command: 'partners release-wallet',
      subject: handle,
      reason,
    })
    session.print({
      handle,
      attestation_wallet: null,
      next: 'a wallet of its oath history binds itself',
    })
    return exitCodes.ok
  })
}

const defaultDays = 30

export async function setTier(session: Session, input: Input): Promise<number> {
  const handle = input.operand('handle')
  const reason = input.needed('reason')
  const tier = tierName.safeParse(input.operand('tier'))
  if (!tier.success) throw new UsageError(`the tier is one of ${tierName.options.join(', ')}`)
  const days = daysOf(input.text('days'))
  const nowMs = session.clock.now()
  return await withDatabase(session, async (database, config) => {
    const changed = await database.write(async (tx) => {
      const partner = await findPartner(tx, { handle })
      if (partner === null) return null
      const given = grantTier(partner.subscription, { tier: tier.data, days }, nowMs)
      const now = isoTime(nowMs)
      await setSubscription(tx, handle, given, now)
      await appendSubscriptionChange(tx, {
        handle,
        kind: 'granted',
        paymentId: null,
        tier: tier.data,
        priceMicroUsdc: 0,
        paidMicroUsdc: 0,
        creditMicroUsdc: 0,
        from: tier.data === 'free' ? null : now,
        until: tier.data === 'free' ? null : isoTime(nowMs + days * dayMs),
        answer: { reason },
        createdAt: now,
      })
      return { ...partner, subscription: given }
    })
    if (changed === null) {
      session.warn('There is no such partner.\n')
      return exitCodes.refused
    }
    const command = `partners set-tier ${tier.data}`
    await recordAct(session, config, { command, subject: handle, reason })
    session.print(view(changed))
    return exitCodes.ok
  })
}

function daysOf(text: string | undefined): number {
  if (text === undefined) return defaultDays
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new UsageError('--days is a whole number of days')
  return Number(text)
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
