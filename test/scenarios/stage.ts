import { randomFrom } from '../support/random.ts'

const endMs = Date.parse('2026-10-01T00:00:00Z')
const hourMs = 3_600_000
export const days = 30

/** Collects the lines of one simulated rail. Times are days before the end of the window. */
export class Stage {
  readonly lines: string[]
  readonly unit: () => number
  readonly #id: string
  #wallets = 0
  #payments = 0
  readonly #exchanges: readonly string[]

  constructor(family: string, seed: number, basis = 'payments') {
    let hash = 2_166_136_261
    for (const char of family) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619)
    this.unit = randomFrom(hash ^ (seed * 7919))
    this.#id = `${family}-${seed}`
    this.lines = [JSON.stringify({ rail: this.#id, end: new Date(endMs).toISOString(), basis })]
    this.#exchanges = [
      this.known({ listed_hub: true, age_days: 900, recipients: 5000, contract: false }),
      this.known({ listed_hub: false, age_days: 400, recipients: 1200, contract: true }),
      this.known({ listed_hub: true, age_days: 1500, recipients: 9000, contract: false }),
    ]
  }

  wallet = (): string => {
    this.#wallets += 1
    return `0x${(this.#wallets + Math.floor(this.unit() * 1e9) * 1000).toString(16).padStart(40, '0')}`
  }
  wallets = (count: number): string[] => Array.from({ length: count }, this.wallet)

  /** A wallet with a verdict. */
  known(facts: Readonly<Record<string, number | boolean>>): string {
    const address = this.wallet()
    this.lines.push(JSON.stringify({ wallet: { address, ...facts } }))
    return address
  }
  /** An ordinary wallet that was tested. */
  ordinary = (): string =>
    this.known({
      listed_hub: false,
      age_days: this.int(1, 600),
      recipients: this.int(1, 60),
      contract: false,
    })
  exchange = (): string => this.pick(this.#exchanges)

  int = (from: number, to: number): number => from + Math.floor(this.unit() * (to - from + 1))
  pick = <T>(from: readonly T[]): T => {
    const picked = from[Math.floor(this.unit() * from.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
  chance = (probability: number): boolean => this.unit() < probability
  /** Normal around 0 with deviation 1 (Box and Muller). */
  normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - this.unit())) * Math.cos(2 * Math.PI * this.unit())
  /** Log-normal. */
  around = (median: number, spread = 0.5): number => median * Math.exp(spread * this.normal())
  /** A time of day with more in the afternoon, some day of the window. */
  someTime = (from = days, to = 0): number => {
    const day = Math.floor(to + this.unit() * (from - to))
    const hour = (14 + 4 * this.normal() + 48) % 24
    return day + (24 - hour) / 24
  }

  pay(payer: string, payee: string, usdc: number, daysAgo: number, removedBy?: string): void {
    this.#payments += 1
    const payment = {
      at: at(daysAgo),
      tx: `0x${this.#payments}`,
      payer,
      payee,
      amount_usdc: rounded(usdc),
      removed_by: removedBy ?? null,
    }
    this.lines.push(JSON.stringify({ payment }))
  }
  send(from: string, to: string, usdc: number, daysAgo: number): void {
    const transfer = { at: at(daysAgo, 60), from, to, amount_usdc: rounded(usdc) }
    this.lines.push(JSON.stringify({ transfer }))
  }
  offers(count: number, creators: number): void {
    this.lines.push(JSON.stringify({ offers: { count, creators } }))
  }

  /** Where customers get their money: mostly exchanges, some from their own wallets. */
  fund(payer: string, usdc: number): void {
    const from = this.chance(0.8) ? this.exchange() : this.ordinary()
    const times = this.int(1, 3)
    for (let time = 0; time < times; time += 1) {
      this.send(from, payer, (usdc * 1.1) / times, 30 + this.int(1, 20))
    }
    if (this.chance(0.3)) this.send(this.exchange(), payer, usdc * this.unit(), this.int(1, 29))
  }
  /** Where workers take their money. */
  cashOut(payee: string, usdc: number): void {
    this.send(
      payee,
      this.chance(0.7) ? this.exchange() : this.ordinary(),
      usdc * 0.9,
      this.int(0, 3),
    )
  }
}

function at(daysAgo: number, most = days): string {
  const ago = Math.min(Math.max(daysAgo, 0.001), most - 0.001)
  return new Date(endMs - Math.round(ago * 24 * hourMs)).toISOString()
}

function rounded(usdc: number): number {
  return Math.max(0, Math.round(usdc * 1e6) / 1e6)
}

/** A market of customers and workers: how often customers pay, and whom, follows a power law. */
export function market(
  stage: Stage,
  shape: {
    readonly payers: number
    readonly payees: number
    readonly payments: number
    readonly usdc: number
    readonly spread?: number
    readonly skew?: number
    readonly time?: () => number
    readonly payee?: (payees: readonly string[]) => string
  },
): { readonly payers: readonly string[]; readonly payees: readonly string[] } {
  const { skew = 1.2, spread = 0.7, time = stage.someTime } = shape
  const [payers, payees] = [stage.wallets(shape.payers), stage.wallets(shape.payees)]
  const ranked = (wallets: readonly string[]): string =>
    wallets[Math.floor(wallets.length * stage.unit() ** skew)] ?? stage.pick(wallets)
  const payee = shape.payee ?? ranked
  const [paid, earned] = [new Map<string, number>(), new Map<string, number>()]
  for (let index = 0; index < shape.payments; index += 1) {
    // Each customer pays at least once.
    const from = payers[index] ?? ranked(payers)
    const to = payee(payees)
    const usdc = stage.around(shape.usdc, spread)
    stage.pay(from, to, usdc, time())
    paid.set(from, (paid.get(from) ?? 0) + usdc)
    earned.set(to, (earned.get(to) ?? 0) + usdc)
  }
  for (const [payer, usdc] of paid) stage.fund(payer, usdc)
  for (const [worker, usdc] of earned) stage.cashOut(worker, usdc)
  return { payers, payees }
}
