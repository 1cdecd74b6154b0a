/** Rails that pay what they seem to pay. */
import type { Family } from './dishonest.ts'
import { days, market } from './stage.ts'
import type { Stage } from './stage.ts'

const size = (stage: Stage) => ({
  payers: stage.int(10, 120),
  payees: stage.int(5, 40),
  payments: stage.int(150, 400),
})

export const tunedHonest: Readonly<Record<string, Family>> = {
  'power-law payers': (stage) => {
    market(stage, { ...size(stage), usdc: stage.around(3, 1), skew: stage.int(15, 30) / 10 })
  },
  'a few large companies': (stage) => {
    market(stage, {
      payers: stage.int(6, 12),
      payees: stage.int(10, 40),
      payments: stage.int(60, 300),
      usdc: stage.around(60),
    })
  },
  'a young rail with six small customers': (stage) => {
    market(stage, {
      payers: 6,
      payees: stage.int(3, 8),
      payments: stage.int(25, 60),
      usdc: stage.around(4, 0.4),
      skew: 1,
      time: () => stage.someTime(stage.int(14, days)),
    })
  },
  'a bounty board with rare large payouts': (stage) => {
    market(stage, {
      payers: stage.int(6, 14),
      payees: stage.int(8, 25),
      payments: stage.int(15, 40),
      usdc: stage.around(300),
      spread: 1,
    })
  },
  'a micro-payment API': (stage) => {
    const { payers, payees } = { payers: stage.int(30, 80), payees: stage.int(2, 6) }
    const payee = (all: readonly string[]) => stage.pick(all)
    market(stage, { payers, payees, payments: stage.int(500, 900), usdc: 0.5, spread: 1.2, payee })
  },
  'seasonal demand': (stage) => {
    const peak = stage.int(5, 25)
    const time = () =>
      stage.chance(0.6) ? Math.max(0.1, peak + 2 * stage.normal()) : stage.someTime()
    market(stage, { ...size(stage), usdc: stage.around(5), time })
  },
  'a star worker with 60 %': (stage) => {
    const payee = (all: readonly string[]) => (stage.chance(0.6) ? (all[0] ?? '') : stage.pick(all))
    market(stage, { ...size(stage), usdc: stage.around(8), payee })
  },
  'a worker who also buys': (stage) => {
    const { payees } = market(stage, { ...size(stage), usdc: stage.around(6) })
    const buyers = payees.slice(0, Math.ceil(payees.length / 3))
    for (let index = 0; index < 40; index += 1) {
      const [from, to] = [stage.pick(buyers), stage.pick(payees)]
      if (from !== to) stage.pay(from, to, stage.around(3), stage.someTime())
    }
  },
  'ordinary refunds': (stage) => {
    const { payers, payees } = market(stage, { ...size(stage), usdc: stage.around(6) })
    for (let index = 0; index < 30; index += 1) {
      stage.send(stage.pick(payees), stage.pick(payers), stage.around(5), stage.someTime())
    }
  },
  'fleets of one owner': (stage) => {
    const { payees } = market(stage, { ...size(stage), usdc: stage.around(10) })
    for (let owner = stage.int(1, 3); owner > 0; owner -= 1) {
      const treasury = stage.ordinary()
      for (const agent of stage.wallets(stage.int(4, 12))) {
        for (let index = stage.int(1, 5); index > 0; index -= 1) {
          stage.pay(agent, stage.pick(payees), stage.around(5), stage.someTime())
        }
        stage.send(treasury, agent, 30, 32)
      }
    }
  },
}

export const laterHonest: Readonly<Record<string, Family>> = {
  'agents that buy from each other': (stage) => {
    const agents = stage.wallets(stage.int(20, 60))
    for (let index = stage.int(150, 400); index > 0; index -= 1) {
      const [from, to] = [stage.pick(agents), stage.pick(agents)]
      if (from !== to) stage.pay(from, to, stage.around(4, 1), stage.someTime())
    }
    for (const agent of agents) stage.fund(agent, 40)
  },
  'daily subscriptions of different size': (stage) => {
    const payees = stage.wallets(stage.int(3, 8))
    for (const payer of stage.wallets(stage.int(8, 30))) {
      const [usdc, phase] = [stage.around(2, 0.8), stage.unit()]
      const gap = stage.pick([1, 1, 7, 3])
      for (let time = phase; time < stage.int(8, days); time += gap) {
        stage.pay(payer, stage.pick(payees), usdc, time)
      }
      stage.fund(payer, usdc * 30)
    }
  },
  'customers through one on-ramp': (stage) => {
    const ramp = stage.exchange()
    const payees = stage.wallets(stage.int(5, 20))
    for (const payer of stage.wallets(stage.int(12, 60))) {
      for (let index = stage.int(1, 8); index > 0; index -= 1) {
        stage.pay(payer, stage.pick(payees), stage.around(5, 0.8), stage.someTime())
      }
      stage.send(ramp, payer, 60, 33)
    }
  },
  'a launch week': (stage) => {
    market(stage, { ...size(stage), usdc: stage.around(5), time: () => stage.someTime(6) })
  },
}

export const lastHonest: Readonly<Record<string, Family>> = {
  'a washing stranger': (stage) => {
    const { payees } = market(stage, { ...size(stage), usdc: stage.around(10) })
    const stranger = stage.wallet()
    const seller = stage.pick(payees)
    for (let round = 0; round < 8; round += 1) {
      stage.pay(stranger, seller, 8, stage.someTime())
      stage.send(seller, stranger, 7, stage.someTime())
    }
  },
  'workers of one agency': (stage) => {
    const { payers } = market(stage, { ...size(stage), usdc: stage.around(8) })
    const agency = stage.ordinary()
    for (const worker of stage.wallets(stage.int(3, 6))) {
      for (let index = 0; index < 4; index += 1) {
        stage.pay(stage.pick(payers), worker, stage.around(8), stage.someTime())
      }
      stage.send(worker, agency, 28, 0.4)
    }
  },
  'payouts twice a month': (stage) => {
    const { payers, payees } = market(stage, { ...size(stage), usdc: stage.around(2) })
    for (const payer of payers.slice(0, 8)) {
      for (const time of [4 + stage.unit(), 19 + stage.unit()]) {
        stage.pay(payer, stage.pick(payees), stage.around(60), time)
      }
    }
  },
}
