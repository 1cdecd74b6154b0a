/** Families written with version 3 of the rules. Most passed, or were judged wrongly, under version 2. */
import { many, puppets } from './dishonest.ts'
import type { Family } from './dishonest.ts'
import { days, market } from './stage.ts'
import type { Stage } from './stage.ts'

/** One payment after the other, each of the money that the last one brought. */
function passOn(stage: Stage, wallets: readonly string[], usdc: number, start: number): void {
  let left = usdc
  for (const [index, to] of wallets.slice(1).entries()) {
    stage.pay(wallets[index] ?? to, to, left, start - (index * start) / wallets.length)
    left *= 0.98 + 0.02 * stage.unit()
  }
}

/** How often and how much these pay varies, as with customers. */
export function unlike(stage: Stage, payers: readonly string[], payees: readonly string[]) {
  const spent = new Map<string, number>()
  for (const payer of payers) {
    const usual = stage.around(8, 0.7)
    for (let count = stage.int(1, 9); count > 0; count -= 1) {
      const usdc = stage.around(usual, 0.6)
      stage.pay(payer, stage.pick(payees), usdc, stage.someTime())
      spent.set(payer, (spent.get(payer) ?? 0) + usdc)
    }
  }
  return spent
}

/** Customers with other money. Returns what each worker earned. */
export function payWorkers(stage: Stage, payers: readonly string[], payees: readonly string[]) {
  const earned = new Map<string, number>()
  for (const payer of payers) {
    let spent = 0
    for (let count = stage.int(1, 8); count > 0; count -= 1) {
      const [payee, usdc] = [stage.pick(payees), stage.around(5, 0.8)]
      stage.pay(payer, payee, usdc, stage.someTime())
      spent += usdc
      earned.set(payee, (earned.get(payee) ?? 0) + usdc)
    }
    stage.fund(payer, spent)
  }
  return earned
}

const multisender = (stage: Stage) =>
  stage.known({ listed_hub: false, age_days: 500, recipients: 5000, contract: true })

export const thirdDishonest: Readonly<Record<string, Family>> = {
  'rings of 13 to 60 wallets': (stage) => {
    for (let ring = stage.int(1, 3); ring > 0; ring -= 1) {
      const wallets = stage.wallets(stage.int(13, 60))
      for (let round = stage.int(1, 4); round > 0; round -= 1) {
        passOn(stage, [...wallets, wallets[0] ?? ''], stage.around(120), stage.someTime(days, 5))
      }
    }
  },
  'a ring of layers': (stage) => {
    const [width, length] = [stage.int(2, 4), stage.int(5, 12)]
    const layers = Array.from({ length }, () => stage.wallets(width))
    for (let round = stage.int(2, 5); round > 0; round -= 1) {
      for (const [at, layer] of layers.entries()) {
        const next = layers[(at + 1) % length] ?? []
        for (const from of layer) for (const to of next) stage.pay(from, to, 20, stage.someTime())
      }
    }
  },
  'a public multisender': (stage) => {
    const [source, splitter] = [stage.ordinary(), multisender(stage)]
    const payers = stage.wallets(many(stage))
    const day = stage.int(31, 45) + 0.5
    let sum = 0
    for (const [payer, usdc] of unlike(stage, payers, stage.wallets(stage.int(3, 8)))) {
      stage.send(splitter, payer, usdc * 1.05, day)
      sum += usdc * 1.05
    }
    stage.send(source, splitter, sum, day)
  },
  'a tree of funders': (stage) => {
    const [root, branches] = [
      stage.ordinary(),
      Array.from({ length: stage.int(6, 10) }, stage.ordinary),
    ]
    const payers = stage.wallets(stage.int(12, 40))
    const sums = new Map<string, number>()
    for (const [payer, usdc] of unlike(stage, payers, stage.wallets(stage.int(3, 8)))) {
      const branch = stage.pick(branches)
      stage.send(branch, payer, usdc * 1.05, 35)
      sums.set(branch, (sums.get(branch) ?? 0) + usdc * 1.05)
    }
    for (const [branch, usdc] of sums) stage.send(root, branch, usdc, 40)
  },
  'a tree of two levels': (stage) => {
    const [root, boughs] = [
      stage.ordinary(),
      [stage.ordinary(), stage.ordinary(), stage.ordinary()],
    ]
    for (const [payer, usdc] of unlike(stage, stage.wallets(many(stage)), stage.wallets(5))) {
      const [leaf, bough] = [stage.ordinary(), stage.pick(boughs)]
      stage.send(leaf, payer, usdc * 1.02, 34)
      stage.send(bough, leaf, usdc * 1.03, 37)
      stage.send(root, bough, usdc * 1.04, 40)
    }
  },
  'a chain that passes money on': (stage) => {
    for (let chain = stage.int(1, 3); chain > 0; chain -= 1) {
      const wallets = stage.wallets(stage.int(8, 25))
      stage.send(stage.exchange(), wallets[0] ?? '', 500, 40)
      passOn(stage, wallets, stage.around(150), days - 1)
    }
  },
  'a chain through new wallets': (stage) => {
    for (let chain = stage.int(1, 3); chain > 0; chain -= 1) {
      let [payer, usdc, time] = [stage.wallet(), stage.around(150), days - 1]
      stage.send(stage.exchange(), payer, usdc * 1.1, 40)
      for (let link = stage.int(8, 20); link > 0; link -= 1) {
        const payee = stage.wallet()
        stage.pay(payer, payee, usdc, time)
        payer = stage.wallet()
        usdc *= 0.97
        time -= 1
        stage.send(payee, payer, usdc, time + 0.5)
      }
    }
  },
  'an exchange and one source, by halves': (stage) => {
    const source = stage.ordinary()
    const payers = stage.wallets(stage.int(8, 40))
    for (const [payer, usdc] of unlike(stage, payers, stage.wallets(stage.int(3, 8)))) {
      const isOwn = stage.chance(0.5)
      stage.send(isOwn ? source : stage.exchange(), payer, usdc * 1.05, stage.int(31, 45))
    }
  },
  'a cohort of equal payers': (stage) =>
    puppets(stage, {
      wallets: stage.int(8, 40),
      usdc: stage.around(10, 0.3),
      payments: stage.int(3, 9),
      fill: (wallet, usdc) => stage.send(stage.exchange(), wallet, usdc, stage.int(31, 45)),
      vault: null,
    }),
  'a contract of one customer': (stage) => {
    const contract = stage.known({
      listed_hub: false,
      age_days: 60,
      recipients: 20,
      contract: true,
    })
    for (const payee of stage.wallets(stage.int(5, 20))) {
      for (let count = stage.int(1, 6); count > 0; count -= 1) {
        stage.pay(contract, payee, stage.around(10), stage.someTime())
      }
    }
    stage.send(stage.ordinary(), contract, 2000, 32)
  },
  'one source in many small parts': (stage) => {
    const source = stage.ordinary()
    const payers = stage.wallets(stage.int(8, 40))
    for (const [payer, usdc] of unlike(stage, payers, stage.wallets(5))) {
      const share = 0.22 + 0.15 * stage.unit()
      stage.send(source, payer, usdc * share, 33)
      stage.send(stage.exchange(), payer, usdc * (1 - share), 35)
    }
  },
  'a lump sum through a multisender, paid out over days': (stage) => {
    const [source, splitter] = [stage.ordinary(), multisender(stage)]
    let sum = 0
    for (const [payer, usdc] of unlike(stage, stage.wallets(many(stage)), stage.wallets(5))) {
      stage.send(splitter, payer, usdc * 1.02, stage.int(32, 40))
      sum += usdc * 1.05
    }
    stage.send(source, splitter, sum, 42)
  },
  'unlike payers, each filled from an exchange': (stage) => {
    for (const [payer, usdc] of unlike(stage, stage.wallets(many(stage)), stage.wallets(5))) {
      stage.send(stage.exchange(), payer, usdc * 1.05, stage.int(31, 45))
    }
  },
  'one session with stragglers': (stage) => {
    const start = stage.int(3, 26)
    puppets(stage, {
      wallets: stage.int(10, 40),
      usdc: 10,
      payments: stage.int(2, 6),
      fill: (wallet, usdc) => stage.send(stage.exchange(), wallet, usdc, 40),
      time: () => (stage.chance(0.85) ? start + stage.unit() / 10 : stage.someTime()),
    })
  },
}

export const thirdHonest: Readonly<Record<string, Family>> = {
  'one model provider for many workers': (stage) => {
    const [payees, provider] = [
      stage.wallets(stage.int(5, 30)),
      stage.known({ listed_hub: false, age_days: 300, recipients: 5, contract: false }),
    ]
    const earned = payWorkers(stage, stage.wallets(stage.int(15, 80)), payees)
    for (const [payee, usdc] of earned) {
      stage.send(payee, provider, usdc * (0.5 + 0.3 * stage.unit()), stage.int(0, 10))
    }
  },
  'a supplier that strangers pay too': (stage) => {
    const { payees } = market(stage, { payers: 40, payees: 12, payments: 300, usdc: 5 })
    const shop = stage.known({
      listed_hub: false,
      age_days: 120,
      recipients: 3,
      senders: 900,
      contract: false,
    })
    for (const payee of payees) stage.send(payee, shop, 110, 1)
  },
  'an on-ramp of 40 to 89 days': (stage) => {
    const ramp = stage.known({
      listed_hub: false,
      age_days: stage.int(40, 89),
      recipients: stage.int(200, 2000),
      contract: false,
    })
    const payers = stage.wallets(stage.int(12, 60))
    for (const [payer, usdc] of unlike(stage, payers, stage.wallets(stage.int(5, 20)))) {
      stage.send(ramp, payer, usdc * 1.2, stage.int(31, 38))
    }
  },
  'an escrow contract that pays for its customers': (stage) => {
    const escrow = stage.known({ listed_hub: false, age_days: 200, recipients: 90, contract: true })
    const payees = stage.wallets(stage.int(5, 25))
    for (const customer of stage.wallets(stage.int(12, 60))) {
      let spent = 0
      for (let count = stage.int(1, 6); count > 0; count -= 1) {
        const [usdc, time] = [stage.around(8, 0.8), stage.someTime()]
        stage.send(customer, escrow, usdc, time + 1)
        stage.pay(escrow, stage.pick(payees), usdc * 0.97, time)
        spent += usdc
      }
      stage.fund(customer, spent)
    }
  },
  'an escrow contract that fills a wallet for each job': (stage) => {
    const escrow = stage.known({ listed_hub: false, age_days: 200, recipients: 90, contract: true })
    const payees = stage.wallets(stage.int(5, 25))
    for (const customer of stage.wallets(stage.int(12, 60))) {
      const [job, day] = [stage.wallet(), stage.int(8, 29)]
      const usdc = stage.around(30, 0.8)
      stage.send(customer, escrow, usdc, day + 0.5)
      stage.send(escrow, job, usdc * 0.97, day + 0.4)
      for (const part of [0.3, 0.6])
        stage.pay(job, stage.pick(payees), usdc * part, stage.someTime(day))
      stage.fund(customer, usdc)
    }
  },
  'a marketplace contract beside other customers': (stage) => {
    const { payees } = market(stage, { payers: 12, payees: 10, payments: 60, usdc: 4 })
    const contract = stage.known({
      listed_hub: false,
      age_days: 50,
      recipients: 30,
      contract: true,
    })
    for (const customer of stage.wallets(30)) {
      const usdc = stage.around(40, 0.8)
      stage.send(customer, contract, usdc, 29.5)
      stage.pay(contract, stage.pick(payees), usdc * 0.95, stage.someTime(28))
    }
  },
  'the hot wallet of an exchange as a payer': (stage) => {
    const { payees, payers } = market(stage, { payers: 25, payees: 12, payments: 200, usdc: 5 })
    const hot = stage.exchange()
    for (let count = 60; count > 0; count -= 1) {
      stage.pay(hot, stage.pick(payees), stage.around(20, 0.8), stage.someTime())
    }
    for (const payer of payers) stage.send(hot, payer, 60, stage.int(31, 40))
  },
  'pay day at the end of the month': (stage) => {
    const payees = stage.wallets(stage.int(15, 50))
    for (const payer of stage.wallets(stage.int(8, 20))) {
      let spent = 0
      for (let count = stage.int(2, 12); count > 0; count -= 1) {
        const usdc = stage.around(120, 0.5)
        stage.pay(payer, stage.pick(payees), usdc, stage.someTime(stage.chance(0.8) ? 1 : 3))
        spent += usdc
      }
      stage.fund(payer, spent)
    }
  },
  'pay days on the 15th and the last': (stage) => {
    const payees = stage.wallets(stage.int(15, 40))
    for (const payer of stage.wallets(stage.int(8, 20))) {
      for (let count = stage.int(1, 6); count > 0; count -= 1) {
        const usdc = stage.around(90, 0.3)
        for (const day of [1, 16]) {
          stage.pay(
            payer,
            stage.pick(payees),
            usdc * (0.9 + 0.2 * stage.unit()),
            day + stage.unit() / 3,
          )
        }
      }
      stage.fund(payer, 600)
    }
  },
  'a plan at one price': (stage) => {
    const payees = stage.wallets(stage.int(3, 10))
    for (const payer of stage.wallets(stage.int(15, 60))) {
      const first = stage.unit() * 20
      for (let time = first; time < days; time += 7) stage.pay(payer, stage.pick(payees), 9.9, time)
      stage.fund(payer, 50)
    }
  },
  'weekly invoices of different size': (stage) => {
    const payees = stage.wallets(15)
    for (const payer of stage.wallets(stage.int(10, 40))) {
      const usual = stage.around(40)
      for (let time = stage.unit() * 7; time < days; time += 7) {
        stage.pay(payer, stage.pick(payees), usual * (0.8 + 0.4 * stage.unit()), time)
      }
      stage.fund(payer, usual * 5)
    }
  },
  'workers who hire workers': (stage) => {
    const { payees } = market(stage, { payers: 30, payees: 12, payments: 250, usdc: 8 })
    const helpers = stage.wallets(15)
    for (const worker of payees) {
      for (let count = stage.int(1, 5); count > 0; count -= 1) {
        stage.pay(worker, stage.pick(helpers), stage.around(10), stage.someTime())
      }
    }
  },
}
