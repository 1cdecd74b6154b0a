/** Rails that look better than they are, with the look-ups that a node would have given. */
import { days, market } from './stage.ts'
import type { Stage } from './stage.ts'

export type Family = (stage: Stage) => void

/** Wallets that one operator fills and empties. Each pays some of the payees. */
export function puppets(
  stage: Stage,
  options: {
    readonly wallets: number
    readonly usdc: number
    readonly payments: number
    readonly fill: (wallet: string, usdc: number) => void
    readonly time?: () => number
    /** Where the payees send what they earned; null: it stays there. */
    readonly vault?: string | null
  },
): void {
  const { time = stage.someTime, fill, vault = stage.ordinary() } = options
  const payees = stage.wallets(stage.int(3, 8))
  const earned = new Map<string, number>()
  for (const wallet of stage.wallets(options.wallets)) {
    let spent = 0
    for (let payment = 0; payment < options.payments; payment += 1) {
      const [payee, usdc] = [stage.pick(payees), stage.around(options.usdc, 0.4)]
      stage.pay(wallet, payee, usdc, time())
      spent += usdc
      earned.set(payee, (earned.get(payee) ?? 0) + usdc)
    }
    fill(wallet, spent * 1.05)
  }
  if (vault === null) return
  for (const [payee, usdc] of earned)
    stage.send(payee, vault, usdc * (0.3 + 0.65 * stage.unit()), 1)
}

export const many = (stage: Stage): number => stage.int(6, 40)

export const tunedDishonest: Readonly<Record<string, Family>> = {
  'dust payers': (stage) => {
    for (const payer of stage.wallets(stage.int(6, 60))) {
      for (let index = stage.int(1, 4); index > 0; index -= 1) {
        stage.pay(payer, stage.wallet(), stage.around(0.0001, 2), stage.someTime())
      }
    }
  },
  'a whale with dust': (stage) => {
    const payees = stage.wallets(stage.int(3, 6))
    const whale = stage.wallet()
    for (const payee of payees) stage.pay(whale, payee, stage.around(3000), stage.someTime())
    for (const payer of stage.wallets(many(stage))) {
      stage.pay(payer, stage.pick(payees), stage.around(0.01, 1), stage.someTime())
    }
    stage.send(stage.exchange(), whale, 10_000, 40)
  },
  'one payer': (stage) => {
    const payer = stage.wallet()
    for (const payee of stage.wallets(many(stage))) {
      stage.pay(payer, payee, stage.around(40), stage.someTime())
    }
    stage.send(stage.exchange(), payer, 5000, 40)
  },
  'self-payment': (stage) => {
    for (const payer of stage.wallets(many(stage))) {
      for (let index = 0; index < 5; index += 1) {
        stage.pay(payer, payer, stage.around(30), stage.someTime(), 'self_payment')
      }
    }
    market(stage, { payers: stage.int(5, 8), payees: 4, payments: 20, usdc: 2 })
  },
  'two-cycles': (stage) => {
    for (let pair = many(stage); pair > 0; pair -= 1) {
      const [a, b] = [stage.wallet(), stage.wallet()]
      for (let round = stage.int(1, 5); round > 0; round -= 1) {
        const usdc = stage.around(80)
        const time = stage.someTime(days, 1)
        stage.pay(a, b, usdc, time)
        stage.pay(b, a, usdc * (0.95 + 0.05 * stage.unit()), time - stage.unit())
      }
    }
  },
  rings: (stage) => {
    for (let ring = stage.int(2, 6); ring > 0; ring -= 1) {
      const wallets = stage.wallets(stage.int(3, 8))
      for (let round = stage.int(2, 6); round > 0; round -= 1) {
        let usdc = stage.around(120)
        const start = stage.someTime(days, 1)
        for (const [index, wallet] of wallets.entries()) {
          stage.pay(
            wallet,
            wallets[(index + 1) % wallets.length] ?? wallet,
            usdc,
            start - index / 24,
          )
          usdc *= 0.98 + 0.02 * stage.unit()
        }
      }
    }
  },
  'sybils with one source': (stage) => {
    const source = stage.ordinary()
    const fill = (wallet: string, usdc: number) =>
      stage.send(source, wallet, usdc, stage.int(30, 40))
    puppets(stage, { wallets: many(stage), usdc: 12, payments: stage.int(2, 8), fill })
  },
  'sybil workers with one collector': (stage) => {
    const [payers, collector] = [stage.wallets(stage.int(6, 12)), stage.ordinary()]
    const earned = new Map<string, number>()
    const workers = stage.wallets(stage.int(5, 15))
    for (let index = 0; index < 80; index += 1) {
      const [worker, usdc] = [stage.pick(workers), stage.around(20)]
      stage.pay(stage.pick(payers), worker, usdc, stage.someTime())
      earned.set(worker, (earned.get(worker) ?? 0) + usdc)
    }
    for (const [worker, usdc] of earned) stage.send(worker, collector, usdc * 0.97, 0.5)
    for (const payer of payers) stage.fund(payer, 400)
  },
  'a burst in an hour': (stage) => {
    const start = stage.int(2, 28)
    const fill = (wallet: string, usdc: number) => stage.send(stage.exchange(), wallet, usdc, 40)
    const time = () => start + stage.unit() / 24
    puppets(stage, { wallets: many(stage), usdc: 10, payments: stage.int(1, 4), fill, time })
  },
  'treasury payouts': (stage) => {
    const treasuries = stage.wallets(stage.int(1, 2))
    const workers = stage.wallets(stage.int(20, 60))
    for (let day = 1; day < days; day += stage.int(2, 5)) {
      const treasury = stage.pick(treasuries)
      for (const worker of workers) stage.pay(treasury, worker, 5, day + 0.4)
    }
    for (const treasury of treasuries) stage.send(stage.exchange(), treasury, 9000, 45)
  },
  'offers without payouts': (stage) => stage.offers(stage.int(20, 400), stage.int(5, 80)),
  'one inflated sale': (stage) => {
    market(stage, { payers: stage.int(4, 7), payees: 5, payments: 15, usdc: 1 })
    const [buyer, seller] = [stage.wallet(), stage.wallet()]
    stage.pay(buyer, seller, stage.around(20_000), stage.someTime())
    stage.send(stage.exchange(), buyer, 60_000, 40)
  },
  'a slow drip by bots': (stage) => {
    const payees = stage.wallets(4)
    const usdc = stage.around(1.5, 0.3)
    for (const bot of stage.wallets(stage.int(6, 20))) {
      const phase = stage.unit()
      for (let time = phase; time < days; time += 1) stage.pay(bot, stage.pick(payees), usdc, time)
      stage.send(stage.exchange(), bot, usdc * 40, 45)
    }
  },
  'refund round trips': (stage) => {
    const payees = stage.wallets(stage.int(3, 8))
    for (const payer of stage.wallets(many(stage))) {
      const [payee, usdc, time] = [stage.pick(payees), stage.around(60), stage.someTime(days, 1)]
      stage.pay(payer, payee, usdc, time)
      stage.send(payee, payer, usdc * (0.9 + 0.1 * stage.unit()), time - 0.5)
      stage.fund(payer, usdc)
    }
  },
  'circulation over an intermediary': (stage) => {
    const [payees, hop] = [stage.wallets(stage.int(3, 8)), stage.wallets(stage.int(1, 4))]
    for (const wallet of hop) stage.send(stage.exchange(), wallet, 100, 50)
    for (const payer of stage.wallets(many(stage))) {
      const [payee, via] = [stage.pick(payees), stage.pick(hop)]
      const [usdc, time] = [stage.around(60), stage.someTime(days, 2)]
      stage.pay(payer, payee, usdc, time)
      stage.send(payee, via, usdc * 0.98, time - 0.5)
      stage.send(via, payer, usdc * 0.96, time - 1)
      stage.fund(payer, usdc)
    }
  },
  'payouts for humans only': (stage) => {
    for (const worker of stage.wallets(many(stage))) {
      stage.pay(stage.wallet(), worker, stage.around(400), stage.someTime(), 'human_only')
    }
    market(stage, { payers: stage.int(1, 4), payees: 4, payments: 10, usdc: 3 })
  },
}

export const laterDishonest: Readonly<Record<string, Family>> = {
  'sybils each filled from an exchange': (stage) =>
    puppets(stage, {
      wallets: many(stage),
      usdc: 10,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => stage.send(stage.exchange(), wallet, usdc, stage.int(30, 45)),
      vault: null,
    }),
  'half from an exchange, half from one source': (stage) => {
    const source = stage.ordinary()
    puppets(stage, {
      wallets: many(stage),
      usdc: 10,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => {
        const share = 0.35 + 0.3 * stage.unit()
        stage.send(stage.exchange(), wallet, usdc * (1 - share), 40)
        stage.send(source, wallet, usdc * share, 38)
      },
    })
  },
  'sybils funded below two fifths by their source': (stage) => {
    const source = stage.ordinary()
    puppets(stage, {
      wallets: many(stage),
      usdc: 10,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => {
        const share = 0.2 + 0.19 * stage.unit()
        stage.send(stage.exchange(), wallet, usdc * (1 - share), 40)
        stage.send(source, wallet, usdc * share, 38)
      },
      vault: source,
    })
  },
  'regular bots behind an exchange': (stage) => {
    const [payees, gap] = [stage.wallets(4), stage.pick([0.5, 1, 2])]
    for (const bot of stage.wallets(stage.int(6, 15))) {
      const phase = stage.unit()
      for (let time = phase; time < days; time += gap * (0.9 + 0.2 * stage.unit())) {
        stage.pay(bot, stage.pick(payees), stage.around(3, 0.1), time)
      }
      stage.send(stage.exchange(), bot, 250, 45)
    }
  },
  'small payers beside a large one': (stage) => {
    const payees = stage.wallets(5)
    const large = stage.wallet()
    for (let index = 0; index < 30; index += 1) {
      stage.pay(large, stage.pick(payees), stage.around(200), stage.someTime())
    }
    for (const payer of stage.wallets(stage.int(8, 16))) {
      for (let index = 0; index < 2; index += 1) {
        stage.pay(payer, stage.pick(payees), stage.around(2, 0.1), stage.someTime())
      }
      stage.send(stage.exchange(), payer, 5, 40)
    }
    stage.send(stage.exchange(), large, 20_000, 50)
  },
}

export const lastDishonest: Readonly<Record<string, Family>> = {
  'circulation over three intermediaries': (stage) => {
    const payees = stage.wallets(stage.int(3, 8))
    for (const payer of stage.wallets(many(stage))) {
      const [usdc, time] = [stage.around(40), stage.someTime(days, 4)]
      const payee = stage.pick(payees)
      const path = [payee, stage.ordinary(), stage.ordinary(), stage.ordinary(), payer]
      stage.pay(payer, payee, usdc, time)
      for (const [index, to] of path.slice(1).entries()) {
        stage.send(path[index] ?? payee, to, usdc * 0.95, time - index - 1)
      }
      stage.send(stage.exchange(), payer, usdc * 2, 45)
    }
  },
  'an old wallet as source': (stage) => {
    const isHub = stage.chance(0.2)
    const source = stage.known({
      listed_hub: false,
      age_days: stage.int(91, 500),
      recipients: isHub ? stage.int(200, 300) : stage.int(20, 199),
    })
    const fill = (wallet: string, usdc: number) => stage.send(source, wallet, usdc, 35)
    puppets(stage, { wallets: many(stage), usdc: 10, payments: stage.int(2, 6), fill, vault: null })
  },
  'short sessions': (stage) => {
    const starts = [stage.someTime(), stage.someTime(), stage.someTime()]
    const time = () =>
      stage.pick(stage.chance(0.9) ? starts.slice(0, 1) : starts) + stage.unit() / 16
    const fill = (wallet: string, usdc: number) => stage.send(stage.exchange(), wallet, usdc, 40)
    puppets(stage, { wallets: many(stage), usdc: 10, payments: stage.int(2, 5), fill, time })
  },
}
