import { sql } from 'kysely'
import type { Transaction } from 'kysely'

import { writeQuotas } from '../../src/core/limits.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { PERIOD_MS, extended, newSubscription } from '../../src/core/partner.ts'
import type { TierName } from '../../src/core/partner.ts'
import { isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import type { Wallet } from '../../src/core/wallet.ts'
import { appendOath } from '../../src/db/oaths.ts'
import { insertPartner, setSubscription } from '../../src/db/partners.ts'
import type { PartnerRecord } from '../../src/db/partners.ts'
import type { Database } from '../../src/db/schema.ts'
import type { Service } from './http-service.ts'
import { signedRequest } from './requests.ts'
import type { JsonAnswer } from './requests.ts'
import type { TestWallet } from './wallets.ts'

/** Inserts a partner with an oath, as a signup does; pending until the payment unless the tier is free. */
export async function insertTestPartner(
  tx: Transaction<Database>,
  by: { readonly handle: string; readonly wallet: Wallet; readonly tier?: TierName },
  nowMs: number,
): Promise<PartnerRecord> {
  const now = isoTime(nowMs)
  const { handle, wallet, tier = 'free' } = by
  const oathSeq = await appendOath(tx, {
    kind: 'partner',
    oathVersion: 1,
    wallet: wallet.id,
    handle,
    action: 'signupPartner',
    messageSha256: 'aa'.repeat(32),
    signatureSha256: 'bb'.repeat(32),
    bodySha256: 'cc'.repeat(32),
    binding: 'statement',
    createdAt: now,
  })
  return await insertPartner(tx, {
    handle,
    wallet,
    email: null,
    displayName: handle,
    skills: [],
    website: null,
    bioShort: null,
    requireBodySignature: false,
    tier,
    status: tier === 'free' ? 'active' : 'pending',
    oathSignedAt: now,
    oathSeq,
    now,
  })
}

/** Inserts an active partner, as a signup and a payment do. */
export async function makePartner(
  service: Pick<Service, 'actions' | 'clock'>,
  wallet: TestWallet,
  options: { readonly handle: string; readonly tier?: TierName },
): Promise<void> {
  const nowMs = service.clock.now()
  const { handle, tier = 'free' } = options
  await service.actions.database.write(async (tx) => {
    await insertTestPartner(tx, { handle, tier, wallet: parseWallet(wallet.address) }, nowMs)
    if (tier === 'free') return
    const priceUsdc = service.actions.reference().tiers.get(tier)?.price_usdc_month ?? 0
    const bought = { tier, priceMicroUsdc: priceUsdc * microPerUsdc, addedMs: PERIOD_MS }
    const { subscription } = extended(newSubscription(tier, nowMs), bought, nowMs)
    await setSubscription(tx, handle, subscription, isoTime(nowMs))
  })
}

/** Adds as many writes to the history of a partner as its daily quota permits. */
export async function fillPartnerWrites(
  { actions, clock }: Pick<Service, 'actions' | 'clock'>,
  handle: string,
): Promise<void> {
  const write = sql`
    with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${writeQuotas.partnerWrites.quota})
    insert into oath_history (kind, wallet, handle, action, message_sha256, signature_sha256, body_sha256, binding, created_at)
    select 'write', 'w', ${handle}, 'postJob', 'm', 's', 'b', 'body', ${isoTime(clock.now())} from counted
  `
  await actions.database.write((tx) => write.execute(tx))
}

/** Returns a function for signed calls. Each write has its own millisecond. */
export function partnerClient(service: Pick<Service, 'url' | 'clock'>, wallet: TestWallet) {
  return async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<JsonAnswer> => {
    if (method !== 'GET') service.clock.advance(1)
    const binding = method === 'GET' ? 'path' : 'body'
    const request = { method, path, body, headers }
    return await (
      await signedRequest(service, wallet, request, { binding })
    )()
  }
}
