/** Families written by a third author, to try version 3 of the rules: each subject in several shapes, sizes and rhythms. */
import { many, puppets } from './dishonest.ts'
import type { Family } from './dishonest.ts'
import { days, market } from './stage.ts'
import type { Stage } from './stage.ts'

/** Sends money on over fresh wallets. Returns the last one and when it had the money. */
function overSteps(stage: Stage, from: string, steps: number, usdc: number, daysAgo: number) {
  let [at, when] = [from, daysAgo]
  for (let step = 0; step < steps; step += 1) {
    const next = stage.ordinary()
    when -= stage.unit() * 0.8 + 0.05
    stage.send(at, next, usdc, when)
    at = next
  }
  return { wallet: at, when }
}

/** A contract that anyone can use to send to many wallets. */
const splitter = (stage: Stage): string =>
  stage.known({
    listed_hub: false,
    age_days: stage.int(60, 900),
    recipients: stage.int(150, 6000),
    contract: true,
  })

/** Puppets that a contract fills. Returns what it sent them. */
function splitAmongPuppets(stage: Stage, contract: string, day: () => number): number {
  let sum = 0
  const fill = (wallet: string, usdc: number) => {
    stage.send(contract, wallet, usdc, day())
    sum += usdc
  }
  puppets(stage, { wallets: many(stage), usdc: 12, payments: stage.int(2, 6), fill, vault: null })
  return sum
}

/** A wallet that fills others, itself filled from an exchange. */
function richSource(stage: Stage): string {
  const source = stage.ordinary()
  stage.send(stage.exchange(), source, 50_000, 55)
  return source
}

/** Payments by wallets that were each filled from an exchange. */
function cohort(
  stage: Stage,
  payees: readonly string[],
  wallets: number,
  payments: (wallet: number) => readonly (readonly [usdc: number, daysAgo: number])[],
): void {
  for (let wallet = 0; wallet < wallets; wallet += 1) {
    const payer = stage.wallet()
    let spent = 0
    for (const [usdc, daysAgo] of payments(wallet)) {
      stage.pay(payer, stage.pick(payees), usdc, daysAgo)
      spent += usdc
    }
    stage.send(stage.exchange(), payer, spent * 1.05, stage.int(31, 50))
  }
}

export const fifthDishonest: Readonly<Record<string, Family>> = {
  'long rings': (stage) => {
    for (let ring = stage.int(1, 3); ring > 0; ring -= 1) {
      const wallets = stage.wallets(stage.int(9, 30))
      for (let round = stage.int(2, 4); round > 0; round -= 1) {
        let usdc = stage.around(80)
        const start = stage.someTime(days, 4)
        for (const [index, wallet] of wallets.entries()) {
          const next = wallets[(index + 1) % wallets.length] ?? wallet
          stage.pay(wallet, next, usdc, start - index / 8)
          usdc *= 0.97 + 0.03 * stage.unit()
        }
      }
      for (const wallet of wallets) stage.send(stage.exchange(), wallet, 20, 40)
    }
  },
  'rings with side branches': (stage) => {
    const wallets = stage.wallets(stage.int(5, 14))
    const branches = stage.wallets(stage.int(3, 8))
    for (let round = stage.int(3, 6); round > 0; round -= 1) {
      const start = stage.someTime(days, 3)
      for (const [index, wallet] of wallets.entries()) {
        const next = wallets[(index + 1) % wallets.length] ?? wallet
        const usdc = stage.around(40, 0.3)
        stage.pay(wallet, next, usdc, start - index / 12)
        if (stage.chance(0.3)) {
          const branch = stage.pick(branches)
          stage.pay(wallet, branch, usdc * 0.3, start - index / 12 - 0.02)
          stage.send(branch, stage.pick(wallets), usdc * 0.28, start - index / 12 - 0.3)
        }
      }
    }
    for (const wallet of wallets) stage.send(stage.exchange(), wallet, 80, 45)
  },
  'a pot passed on at random': (stage) => {
    const wallets = stage.wallets(stage.int(8, 20))
    for (let pot = stage.int(1, 4); pot > 0; pot -= 1) {
      let [at, usdc, time] = [stage.pick(wallets), stage.around(150), days - 0.5]
      stage.send(stage.exchange(), at, usdc, 32)
      while (time > 0.5) {
        const next = stage.pick(wallets.filter((wallet) => wallet !== at))
        stage.pay(at, next, usdc, time)
        at = next
        usdc *= 0.99
        time -= 0.2 + stage.unit()
      }
    }
  },
  'circulation over four to ten transfers': (stage) => {
    const payees = stage.wallets(stage.int(3, 8))
    for (const payer of stage.wallets(many(stage))) {
      const [payee, usdc, time] = [stage.pick(payees), stage.around(50), stage.someTime(days, 12)]
      stage.pay(payer, payee, usdc, time)
      const { wallet, when } = overSteps(stage, payee, stage.int(3, 9), usdc * 0.97, time)
      stage.send(wallet, payer, usdc * 0.95, when - 0.2)
      stage.send(stage.exchange(), payer, usdc * 1.2, 45)
    }
  },
  'earnings pooled and given out again': (stage) => {
    const [payees, payers] = [stage.wallets(stage.int(3, 8)), stage.wallets(many(stage))]
    const pool = stage.ordinary()
    for (let round = 0; round < 3; round += 1) {
      const time = 28 - round * 9
      let pooled = 0
      for (const payer of payers) {
        const usdc = stage.around(20, 0.3)
        const payee = stage.pick(payees)
        stage.pay(payer, payee, usdc, time - stage.unit() * 2)
        stage.send(payee, pool, usdc * 0.98, time - 3)
        pooled += usdc
      }
      const { wallet, when } = overSteps(stage, pool, stage.int(1, 4), pooled * 0.97, time - 4)
      for (const payer of payers)
        stage.send(wallet, payer, (pooled * 0.96) / payers.length, when - 0.3)
    }
    for (const payer of payers) stage.send(stage.exchange(), payer, 25, 40)
  },
  'a tree of funders': (stage) => {
    const [depth, width] = [stage.int(2, 5), stage.int(2, 4)]
    let level = [richSource(stage)]
    for (let step = 1; step < depth; step += 1) {
      level = level.slice(0, 12).flatMap((parent) =>
        Array.from({ length: width }, () => {
          const child = stage.ordinary()
          stage.send(parent, child, 3000 / width ** step, 50 - step * 2)
          return child
        }),
      )
    }
    const leaves = level
    puppets(stage, {
      wallets: many(stage),
      usdc: 12,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => stage.send(stage.pick(leaves), wallet, usdc, stage.int(31, 38)),
      vault: stage.chance(0.5) ? stage.ordinary() : null,
    })
  },
  'one source and a chain of its own to each payer': (stage) => {
    const source = richSource(stage)
    puppets(stage, {
      wallets: stage.int(6, 25),
      usdc: 12,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => {
        const { wallet: last, when } = overSteps(stage, source, stage.int(1, 5), usdc, 48)
        stage.send(last, wallet, usdc, when - 1)
      },
      vault: null,
    })
  },
  'each payer fills the next': (stage) => {
    let previous = richSource(stage)
    puppets(stage, {
      wallets: stage.int(6, 20),
      usdc: 12,
      payments: stage.int(2, 5),
      fill: (wallet, usdc) => {
        stage.send(previous, wallet, usdc * 3, 40)
        previous = wallet
      },
      vault: null,
    })
  },
  'a public splitter': (stage) => {
    const [source, contract] = [richSource(stage), splitter(stage)]
    const time = stage.int(31, 50)
    const sum = splitAmongPuppets(stage, contract, () => time)
    stage.send(source, contract, sum, time)
  },
  'a splitter in several rounds': (stage) => {
    const [source, contract] = [richSource(stage), splitter(stage)]
    const payees = stage.wallets(stage.int(3, 8))
    const payers = stage.wallets(many(stage))
    for (let round = 0; round < 4; round += 1) {
      const time = 33 - round * 7
      const usdc = stage.around(15, 0.3)
      stage.send(source, contract, usdc * payers.length, time)
      for (const payer of payers) {
        stage.send(contract, payer, usdc, time - 0.001)
        for (let index = 0; index < 2; index += 1)
          stage.pay(
            payer,
            stage.pick(payees),
            usdc * 0.45,
            Math.max(0.1, time - 3 - stage.unit() * 4),
          )
      }
    }
  },
  'a splitter with several sources of one master': (stage) => {
    const [master, contract] = [richSource(stage), splitter(stage)]
    const sources = Array.from({ length: stage.int(2, 6) }, stage.ordinary)
    const sum = splitAmongPuppets(stage, contract, () => 38)
    for (const source of sources) {
      stage.send(master, source, sum / sources.length + 10, 45)
      stage.send(source, contract, sum / sources.length, 39 - stage.unit())
    }
  },
  'a splitter that holds the money for days': (stage) => {
    const [source, contract] = [richSource(stage), splitter(stage)]
    const held = stage.int(1, 10)
    const sum = splitAmongPuppets(stage, contract, () => 32 + stage.unit() * 3)
    stage.send(source, contract, sum * 1.1, 36 + held)
  },
  'several sources of one master': (stage) => {
    const master = richSource(stage)
    const sources = Array.from({ length: stage.int(3, 7) }, stage.ordinary)
    for (const source of sources) stage.send(master, source, 2000, 50)
    puppets(stage, {
      wallets: many(stage),
      usdc: 12,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => {
        const shares = stage.int(1, 3)
        for (let share = 0; share < shares; share += 1)
          stage.send(stage.pick(sources), wallet, usdc / shares, stage.int(31, 40))
      },
      vault: null,
    })
  },
  'a young source that sends dust to hundreds': (stage) => {
    const source = stage.known({
      listed_hub: false,
      age_days: stage.int(5, 39),
      recipients: stage.int(200, 600),
      contract: false,
    })
    const fill = (wallet: string, usdc: number) => stage.send(source, wallet, usdc, 33)
    puppets(stage, { wallets: many(stage), usdc: 12, payments: stage.int(2, 6), fill, vault: null })
  },
  'equal payers with equal counts and sums': (stage) => {
    const [count, usdc] = [stage.int(3, 12), stage.around(8, 0.4)]
    cohort(stage, stage.wallets(stage.int(3, 8)), stage.int(8, 40), () =>
      Array.from({ length: count }, () => [usdc, stage.someTime()] as const),
    )
  },
  'equal payers on equal dates': (stage) => {
    const dates = Array.from({ length: stage.int(4, 10) }, () => stage.someTime())
    cohort(stage, stage.wallets(stage.int(3, 8)), stage.int(8, 30), () =>
      dates.map((date) => [stage.around(8, 0.4), date + stage.unit() / 12] as const),
    )
  },
  'equal payers that spend one budget': (stage) => {
    const [budget, count] = [stage.around(60, 0.3), stage.int(4, 10)]
    cohort(stage, stage.wallets(stage.int(3, 8)), stage.int(8, 30), () => {
      const parts = Array.from({ length: count }, () => 0.3 + stage.unit())
      const sum = parts.reduce((total, part) => total + part, 0)
      return parts.map((part) => [(budget * part) / sum, stage.someTime()] as const)
    })
  },
  'equal payers with a little noise': (stage) => {
    const [count, usdc] = [stage.int(6, 20), stage.around(4, 0.4)]
    cohort(stage, stage.wallets(stage.int(3, 8)), stage.int(8, 30), () =>
      Array.from(
        { length: count + stage.int(-1, 1) },
        () => [usdc * (0.95 + 0.1 * stage.unit()), stage.someTime()] as const,
      ),
    )
  },
  'equal payers beside a few customers': (stage) => {
    const { payees } = market(stage, {
      payers: stage.int(3, 8),
      payees: stage.int(4, 8),
      payments: stage.int(15, 40),
      usdc: 6,
    })
    const [count, usdc] = [stage.int(8, 15), stage.around(5, 0.3)]
    cohort(stage, payees, stage.int(12, 30), () =>
      Array.from({ length: count }, () => [usdc, stage.someTime()] as const),
    )
  },
  'an escrow with one depositor behind many': (stage) => {
    const [source, workers] = [richSource(stage), stage.wallets(stage.int(4, 12))]
    const escrow = stage.known({
      listed_hub: false,
      age_days: stage.int(30, 300),
      recipients: stage.int(5, 100),
      contract: true,
    })
    for (const depositor of stage.wallets(stage.int(6, 25))) {
      for (let job = stage.int(1, 4); job > 0; job -= 1) {
        const [usdc, time] = [stage.around(25, 0.6), stage.someTime(days, 2)]
        stage.send(depositor, escrow, usdc, time + 0.5)
        stage.pay(escrow, stage.pick(workers), usdc * 0.97, time)
      }
      stage.send(source, depositor, 200, 35)
    }
  },
  'workers that send all to one wallet over two steps': (stage) => {
    const [source, collector] = [richSource(stage), stage.ordinary()]
    const [payers, workers] = [stage.wallets(many(stage)), stage.wallets(stage.int(5, 15))]
    for (const payer of payers) stage.send(stage.exchange(), payer, 100, 40)
    for (const worker of workers) {
      let earned = 0
      for (let index = stage.int(4, 10); index > 0; index -= 1) {
        const usdc = stage.around(12, 0.5)
        stage.pay(stage.pick(payers), worker, usdc, stage.someTime(days, 6))
        earned += usdc
      }
      const { wallet, when } = overSteps(stage, worker, stage.int(0, 2), earned * 0.97, 4)
      stage.send(wallet, collector, earned * 0.96, when - 0.3)
    }
    stage.send(collector, source, 500, 0.5)
  },
}

/** Customers that pay through a contract: what each deposits, and when before the payout. */
function throughContract(
  stage: Stage,
  options: {
    readonly customers?: number
    readonly jobs?: () => number
    readonly usdc?: number
    readonly fee?: number
    readonly early: () => number
    readonly refund?: number
    readonly facts?: Readonly<Record<string, number | boolean>>
  },
): string {
  const { fee = 0, refund = 0, usdc: median = 30 } = options
  const contract = stage.known({
    listed_hub: false,
    age_days: stage.int(20, 500),
    recipients: stage.int(10, 150),
    contract: true,
    ...options.facts,
  })
  const workers = stage.wallets(stage.int(6, 25))
  const earned = new Map<string, number>()
  for (const customer of stage.wallets(options.customers ?? stage.int(8, 40))) {
    let spent = 0
    for (let job = options.jobs?.() ?? stage.int(1, 6); job > 0; job -= 1) {
      const [usdc, time] = [stage.around(median, 0.7), stage.someTime()]
      stage.send(customer, contract, usdc, time + options.early())
      const part = stage.chance(refund) ? 0.2 + 0.5 * stage.unit() : 0
      const worker = stage.pick(workers)
      stage.pay(contract, worker, usdc * (1 - part) * (1 - fee), time)
      if (part > 0) stage.send(contract, customer, usdc * part, time - 0.1)
      spent += usdc
      earned.set(worker, (earned.get(worker) ?? 0) + usdc * (1 - part) * (1 - fee))
    }
    stage.fund(customer, spent)
  }
  for (const [worker, usdc] of earned) stage.cashOut(worker, usdc)
  return contract
}

/** Workers that pass a share of what they earn to one supplier. */
function supplied(stage: Stage, from: number, to: number, supplier: string, most = 40): void {
  const payees = stage.wallets(stage.int(8, most))
  const payers = stage.wallets(stage.int(10, 60))
  const earned = new Map<string, number>()
  const count = stage.int(120, 300)
  for (let index = 0; index < count; index += 1) {
    const [payee, usdc] = [stage.pick(payees), stage.around(6)]
    stage.pay(payers[index] ?? stage.pick(payers), payee, usdc, stage.someTime(days, 2))
    earned.set(payee, (earned.get(payee) ?? 0) + usdc)
  }
  for (const payer of payers) stage.fund(payer, 80)
  for (const [payee, usdc] of earned)
    stage.send(payee, supplier, usdc * (from + (to - from) * stage.unit()), stage.int(1, 2))
}

const facts = (stage: Stage, more: Readonly<Record<string, number | boolean>>) =>
  stage.known({ listed_hub: false, contract: false, age_days: stage.int(100, 700), ...more })

/** Customers that were filled by one wallet for the larger part. */
function filledBy(stage: Stage, source: string, share: number): void {
  const payees = stage.wallets(stage.int(5, 20))
  for (const payer of stage.wallets(stage.int(8, 50))) {
    let spent = 0
    for (let index = stage.int(1, 8); index > 0; index -= 1) {
      const usdc = stage.around(7, 0.8)
      stage.pay(payer, stage.pick(payees), usdc, stage.someTime())
      spent += usdc
    }
    if (stage.chance(share)) stage.send(source, payer, spent * 1.2, stage.int(31, 34))
    else stage.fund(payer, spent)
  }
}

/** Companies that pay their workers on pay day. */
function payroll(
  stage: Stage,
  options: {
    readonly companies: number
    readonly salary: (company: number) => number
    readonly time: () => number
    readonly bonus?: boolean
  },
): void {
  for (let company = 0; company < options.companies; company += 1) {
    const employer = stage.wallet()
    let spent = 0
    for (const worker of stage.wallets(stage.int(4, 15))) {
      const usdc = options.salary(company)
      stage.pay(employer, worker, usdc, options.time())
      spent += usdc
      if (options.bonus === true && stage.chance(0.3)) {
        const extra = stage.around(usdc * 0.2)
        stage.pay(employer, worker, extra, stage.someTime())
        spent += extra
      }
      stage.cashOut(worker, usdc)
    }
    stage.fund(employer, spent)
  }
}

export const fifthHonest: Readonly<Record<string, Family>> = {
  'an on-ramp of 40 days': (stage) =>
    filledBy(stage, facts(stage, { age_days: 40, recipients: stage.int(200, 3000) }), 0.95),
  'an on-ramp contract of 40 to 89 days': (stage) =>
    filledBy(
      stage,
      facts(stage, {
        age_days: stage.int(40, 89),
        recipients: stage.int(200, 900),
        contract: true,
      }),
      1,
    ),
  'a hub by senders that workers use': (stage) =>
    supplied(stage, 0.85, 1, facts(stage, { recipients: 20, senders: stage.int(200, 900) })),
  'a hub by senders that fills customers': (stage) =>
    filledBy(stage, facts(stage, { recipients: 30, senders: stage.int(200, 2000) }), 0.9),
  'a supplier with half to four fifths': (stage) => supplied(stage, 0.5, 0.8, stage.ordinary()),
  'a supplier of 20 workers and more': (stage) =>
    supplied(stage, 0.5, 0.88, facts(stage, { recipients: stage.int(1, 60), senders: 150 }), 60),
  'a supplier with most of the income': (stage) => supplied(stage, 0.8, 0.95, stage.ordinary()),
  'a supplier with senders given': (stage) =>
    supplied(stage, 0.55, 0.9, facts(stage, { recipients: 8, senders: stage.int(40, 199) })),
  'an escrow with deposits on the day': (stage) => {
    throughContract(stage, { early: () => stage.unit() * 0.5 })
  },
  'an escrow with deposits a week earlier and a fee': (stage) => {
    throughContract(stage, { early: () => 5 + 4 * stage.unit(), fee: 0.05 })
  },
  'an escrow with partial refunds': (stage) => {
    throughContract(stage, { early: () => 1 + 3 * stage.unit(), refund: 0.3, fee: 0.02 })
  },
  'a marketplace with many small jobs': (stage) => {
    throughContract(stage, {
      early: () => stage.unit() * 2,
      jobs: () => stage.int(5, 25),
      usdc: 2,
      fee: 0.1,
      facts: { recipients: stage.int(150, 800), age_days: stage.int(60, 500) },
    })
  },
  'an escrow with balances left over': (stage) => {
    const escrow = throughContract(stage, { early: () => 2 + 10 * stage.unit() })
    for (const late of stage.wallets(stage.int(2, 10)))
      stage.send(late, escrow, stage.around(60), stage.int(1, 10))
  },
  'a marketplace that its owner also fills': (stage) => {
    const contract = throughContract(stage, { early: () => stage.unit() * 3, fee: 0.05 })
    stage.send(stage.ordinary(), contract, stage.around(80), stage.int(31, 50))
  },
  'an escrow with few customers': (stage) => {
    throughContract(stage, {
      customers: stage.int(6, 8),
      jobs: () => stage.int(2, 6),
      early: () => stage.unit() * 4,
    })
  },
  'an escrow that pays in weekly batches': (stage) => {
    const escrow = facts(stage, { recipients: stage.int(10, 120), contract: true })
    const workers = stage.wallets(stage.int(6, 20))
    const customers = stage.wallets(stage.int(8, 30))
    for (let week = 0; week < 4; week += 1) {
      const payday = 25 - week * 7
      const owed = new Map<string, number>()
      for (const customer of customers) {
        if (stage.chance(0.3)) continue
        const [worker, usdc] = [stage.pick(workers), stage.around(20, 0.6)]
        stage.send(customer, escrow, usdc, payday + 0.5 + 6 * stage.unit())
        owed.set(worker, (owed.get(worker) ?? 0) + usdc * 0.95)
      }
      for (const [worker, usdc] of owed) stage.pay(escrow, worker, usdc, payday - stage.unit() / 8)
    }
    for (const customer of customers) stage.fund(customer, 80)
  },
  'pay day at the end of the month': (stage) =>
    payroll(stage, {
      companies: stage.int(6, 15),
      salary: () => stage.around(80, 0.5),
      time: () => 0.25 + stage.unit() * 0.4,
    }),
  'pay day within the last three days, with bonuses': (stage) =>
    payroll(stage, {
      companies: stage.int(5, 10),
      salary: () => stage.around(60, 0.4),
      time: () => 0.2 + stage.unit() * 2.6,
      bonus: true,
    }),
  'companies with the same salary': (stage) => {
    const usdc = stage.pick([50, 100, 200])
    payroll(stage, {
      companies: stage.int(5, 9),
      salary: () => usdc,
      time: () => stage.pick([0.3, 15.3]) + stage.unit(),
    })
  },
  'invoices at the end of the month': (stage) => {
    market(stage, {
      payers: stage.int(8, 40),
      payees: stage.int(4, 15),
      payments: stage.int(40, 120),
      usdc: stage.around(40),
      time: () => (stage.chance(0.8) ? 0.1 + stage.unit() * 2 : stage.someTime()),
    })
  },
  'hot wallets of two exchanges pay': (stage) => {
    const { payees } = market(stage, {
      payers: stage.int(6, 30),
      payees: stage.int(5, 20),
      payments: stage.int(60, 200),
      usdc: stage.around(6),
    })
    const hot = [stage.exchange(), stage.exchange()]
    for (let index = stage.int(20, 120); index > 0; index -= 1)
      stage.pay(stage.pick(hot), stage.pick(payees), stage.around(8), stage.someTime())
  },
  'fleets beside customers': (stage) => {
    const { payees } = market(stage, {
      payers: stage.int(10, 30),
      payees: stage.int(5, 20),
      payments: stage.int(80, 200),
      usdc: stage.around(6, 0.3),
    })
    for (let fleet = stage.int(2, 4); fleet > 0; fleet -= 1) {
      const treasury = richSource(stage)
      for (const agent of stage.wallets(stage.int(3, 8))) {
        for (let index = stage.int(1, 3); index > 0; index -= 1)
          stage.pay(agent, stage.pick(payees), stage.around(4), stage.someTime())
        stage.send(treasury, agent, 15, stage.int(31, 40))
      }
    }
  },
  'gifts of a faucet': (stage) => {
    const faucet = facts(stage, { recipients: stage.int(60, 199) })
    const { payers } = market(stage, {
      payers: stage.int(10, 60),
      payees: stage.int(5, 20),
      payments: stage.int(150, 300),
      usdc: stage.around(4, 0.4),
    })
    for (const payer of payers) stage.send(faucet, payer, stage.pick([1, 2, 5]), stage.int(20, 45))
  },
  'customers who spend what they earn elsewhere': (stage) => {
    const payees = stage.wallets(stage.int(5, 20))
    for (const payer of stage.wallets(stage.int(8, 40))) {
      const employer = stage.ordinary()
      for (let week = 0; week < 4; week += 1) {
        const usdc = stage.around(15, 0.6)
        stage.send(employer, payer, usdc * 1.2, 30 - week * 7)
        stage.pay(payer, stage.pick(payees), usdc, 29 - week * 7 - stage.unit() * 5)
      }
    }
  },
  'customers with wallets between exchange and rail': (stage) => {
    const payees = stage.wallets(stage.int(5, 20))
    for (const payer of stage.wallets(stage.int(8, 40))) {
      const usdc = stage.around(20, 0.7)
      const count = stage.int(1, 5)
      for (let index = 0; index < count; index += 1)
        stage.pay(payer, stage.pick(payees), usdc / count, stage.someTime())
      const { wallet, when } = overSteps(stage, stage.exchange(), stage.int(1, 3), usdc * 1.1, 50)
      stage.send(wallet, payer, usdc * 1.05, when - 1)
    }
  },
  'three tariffs': (stage) => {
    const payees = stage.wallets(stage.int(2, 6))
    for (const payer of stage.wallets(stage.int(8, 60))) {
      const [usdc, gap] = [stage.pick([5, 10, 20]), stage.pick([7, 14, 30])]
      for (let time = stage.unit() * gap; time < days; time += gap)
        stage.pay(payer, stage.pick(payees), usdc, time)
      stage.fund(payer, usdc * 5)
    }
  },
  'metered use with a daily bill': (stage) => {
    const payees = stage.wallets(stage.int(2, 5))
    for (const payer of stage.wallets(stage.int(6, 30))) {
      const usual = stage.around(1.5, 0.8)
      let spent = 0
      for (let day = stage.int(8, days) - 1; day >= 0; day -= 1) {
        if (stage.chance(0.2)) continue
        const usdc = stage.around(usual, 0.6)
        stage.pay(payer, stage.pick(payees), usdc, day + 0.9 + stage.unit() / 24)
        spent += usdc
      }
      stage.fund(payer, spent + 1)
    }
  },
  'five to eight customers': (stage) => {
    const payees = stage.wallets(stage.int(3, 6))
    for (const payer of stage.wallets(stage.int(5, 8))) {
      const count = stage.int(3, 12)
      for (let index = 0; index < count; index += 1)
        stage.pay(payer, stage.pick(payees), stage.around(5, 0.5), stage.someTime())
      stage.fund(payer, count * 6)
    }
  },
  'micro-payments beside a few large orders': (stage) => {
    const payees = stage.wallets(stage.int(4, 10))
    for (const payer of stage.wallets(stage.int(15, 50))) {
      let spent = 0
      for (let index = stage.int(3, 30); index > 0; index -= 1) {
        const usdc = stage.chance(0.04) ? stage.around(40) : stage.around(0.3, 1)
        stage.pay(payer, stage.pick(payees), usdc, stage.someTime())
        spent += usdc
      }
      stage.fund(payer, spent)
    }
  },
  'agents that subcontract': (stage) => {
    const { payees } = market(stage, {
      payers: stage.int(10, 40),
      payees: stage.int(8, 20),
      payments: stage.int(120, 250),
      usdc: stage.around(10),
    })
    const specialists = stage.wallets(stage.int(3, 8))
    for (let index = stage.int(40, 100); index > 0; index -= 1)
      stage.pay(stage.pick(payees), stage.pick(specialists), stage.around(3), stage.someTime())
  },
}
