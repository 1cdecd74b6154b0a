import type { SignedPayment, People, PayerWallets } from '../chain/payers.ts'
import { keyOf } from '../chain/usdc.ts'
/** Sold reads: mostly paid correctly, at times with another payment. */
import type { Call } from '../http-call.ts'
import { countedOf, iso, scoreOf } from '../model/reading.ts'
import type { State } from '../model/state.ts'
import type { Chance } from '../random.ts'
import { addresses, wallets } from './wallets.ts'

export interface SoldRead {
  readonly path: string
  readonly priceMicro: number
  readonly wanted: (seen: State, nowMs: number) => object
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
    wanted: (seen: State, nowMs: number) => ({
      wallet: address,
      rep_score: scoreOf(seen.entries, id, nowMs),
      receipts_count: countedOf(seen.entries, id).length,
      computed_at: iso(nowMs),
    }),
  })),
  { path: '/api/v1/alerts/feed', priceMicro: 2000, wanted: () => ({}) },
]

interface Shopping {
  readonly number: number
  readonly nowMs: number
  readonly chance: Chance
  readonly payerWallets: PayerWallets
  readonly people: People
  /** Earlier paid reads. */
  readonly before: readonly PaidRead[]
  readonly state: State
}

export function paidRead(at: Shopping): PaidRead {
  const { chance, before, number } = at
  const read = chance.pick(sold) ?? first()
  const how = chance.weighted({ new: 60, again: 18, elsewhere: 14, unpaid: 4 })
  const open = before.filter((one) => isOpen(one, at.state))
  const from = open.length > 0 && chance.happens(0.7) ? open : before
  const earlier = from[chance.below(from.length)]
  if (how === 'again' && earlier !== undefined) return { ...earlier, number }
  if (how === 'elsewhere' && earlier !== undefined) {
    return elsewhere(earlier, number, chance)
  }
  return sentRead(read, how === 'unpaid' ? null : payment(at, read), number, chance)
}

/** Reuses the payment for another read, mostly of the same price. */
export function elsewhere(paid: PaidRead, number: number, chance: Chance): PaidRead {
  const others = sold.filter(({ path }) => path !== paid.path)
  const other = chance.happens(0.2) ? chance.pick(sold) : others[chance.below(3)]
  return sentRead(other ?? first(), paid.payment, number, chance)
}

function isOpen({ payment }: PaidRead, { payments }: State): boolean {
  if (payment === null) return false
  const row = payments.get(keyOf(payment.authorization))
  return row !== undefined && !row.isDelivered
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
