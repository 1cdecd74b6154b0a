/** Reads by id, and sold reads: mostly paid correctly, at times with another payment. */
import type { SignedPayment, People, PayerWallets } from '../chain/payers.ts'
import type { Call } from '../http-call.ts'
import { countedEntries, iso, jobStatusAt, scoreOf } from '../oracle/facts.ts'
import type { Fields, Snapshot } from '../oracle/snapshot.ts'
import type { Chance } from '../random.ts'
import { addresses, wallets } from './wallets.ts'

export interface Read {
  readonly path: string
  /** Members that the answer must have in a state; null where it must be a 404. */
  readonly wanted: (db: Snapshot, nowMs: number) => Fields | null
}

export interface SoldRead extends Read {
  readonly priceMicro: number
  readonly wanted: (db: Snapshot, nowMs: number) => Fields
}

export interface PaidRead extends Call, SoldRead {
  readonly number: number
  readonly payment: SignedPayment | null
}

export const siteUrl = 'https://ledger.test'

const sold: readonly SoldRead[] = [
  ...wallets.map(({ address, id }) => ({
    path: `/api/v1/reputation/${address}`,
    priceMicro: 5000,
    wanted: (db: Snapshot, nowMs: number) => ({
      wallet: address,
      rep_score: scoreOf(db, id, nowMs),
      receipts_count: countedEntries(db, id).length,
      computed_at: iso(nowMs),
    }),
  })),
  { path: '/api/v1/alerts/feed', priceMicro: 2000, wanted: () => ({}) },
]

/** Null if nothing of the drawn kind exists. */
export function drawRead(chance: Chance, db: Snapshot): Read | null {
  const table = chance.pick(['receipts', 'jobs', 'partners'] as const)
  const ids =
    table === 'partners' ? db.partners.map((row) => row.handle) : db[table].map((row) => row.id)
  const id = ids[chance.below(ids.length)]
  if (id === undefined) return null
  const wanted = (seen: Snapshot, nowMs: number): Fields | null => membersOf(seen, id, nowMs)
  return { path: `/api/v1/${table}/${id}`, wanted }
}

function membersOf(db: Snapshot, id: string, nowMs: number): Fields | null {
  const receipt = db.receipts.find((row) => row.id === id)
  if (receipt !== undefined) {
    const { accepted_at, amount_micro_usdc: amount } = receipt
    return { receipt_id: id, accepted_at, amount_usdc: amount / 1e6 }
  }
  const job = db.jobs.find((row) => row.id === id)
  if (job !== undefined) return { id, status: jobStatusAt(job, nowMs), bids_count: job.bids_count }
  const partner = db.partners.find((row) => row.handle === id)
  if (partner === undefined) return null
  const { display_name, tier, attestation_url: url } = partner
  return { handle: id, display_name, tier, attestation_endpoint_url: url }
}

interface Shopping {
  readonly number: number
  readonly nowMs: number
  readonly chance: Chance
  readonly payerWallets: PayerWallets
  readonly people: People
  readonly before: readonly PaidRead[]
  readonly db: Snapshot
}

export function drawPaidRead(at: Shopping): PaidRead {
  const { chance, before, number } = at
  const read = chance.pick(sold) ?? first()
  const how = chance.weighted({ new: 60, again: 18, elsewhere: 14, unpaid: 4 })
  const open = before.filter((one) => isOpen(one, at.db))
  const from = open.length > 0 && chance.happens(0.7) ? open : before
  const earlier = from[chance.below(from.length)]
  if (how === 'again' && earlier !== undefined) return { ...earlier, number }
  if (how === 'elsewhere' && earlier !== undefined) {
    return withOtherRead(earlier, number, chance)
  }
  return sentRead(read, how === 'unpaid' ? null : payment(at, read), number, chance)
}

/** Reuses the payment for another read, mostly of the same price. */
export function withOtherRead(paid: PaidRead, number: number, chance: Chance): PaidRead {
  const others = sold.filter(({ path }) => path !== paid.path)
  const other = chance.happens(0.2) ? chance.pick(sold) : others[chance.below(3)]
  return sentRead(other ?? first(), paid.payment, number, chance)
}

function isOpen({ payment }: PaidRead, { payments }: Snapshot): boolean {
  const nonce = payment?.authorization.nonce
  return payments.some((row) => row.nonce === nonce && row.delivered_at === null)
}

function sentRead(
  read: SoldRead,
  paid: SignedPayment | null,
  number: number,
  chance: Chance,
): PaidRead {
  const address = chance.pick(addresses)
  const headers = paid?.header ?? {}
  return { ...read, number, payment: paid, method: 'GET', headers, raw: '', address }
}

function payment(
  { chance, payerWallets, people, nowMs }: Shopping,
  { priceMicro }: SoldRead,
): SignedPayment {
  const { payers } = people
  const [rich, , poor] = payers
  const payer = (chance.happens(0.06) ? poor : payers[chance.below(2)]) ?? rich ?? nobody()
  const forger = payers.find((one) => one !== payer) ?? nobody()
  const now = Math.floor(nowMs / 1000)
  const life = chance.weighted({ 120: 80, 3000: 10, 12: 5, 8: 2, '-5': 2, 4000: 1 })
  const value = chance.happens(0.03) ? priceMicro + 1 : priceMicro
  const to = chance.happens(0.02) ? payer.address : people.receiver.toLowerCase()
  return payerWallets.write(
    {
      to,
      value: BigInt(value),
      validAfter: chance.happens(0.02) ? now + 60 : 0,
      validBefore: now + Number(life),
      nonce: `0x${Buffer.from(chance.bytes(32)).toString('hex')}`,
    },
    {
      payer,
      signer: chance.happens(0.04) ? forger : payer,
      version: chance.happens(0.5) ? 1 : 2,
    },
  )
}

function first(): SoldRead {
  const [read] = sold
  if (read === undefined) throw new Error('nothing is sold')
  return read
}

function nobody(): never {
  throw new Error('nobody pays')
}
