/** Families written by a second author who had not seen version 3 of the rules, and those that no rule can tell apart. */
import type { Family } from './dishonest.ts'
import { days, market } from './stage.ts'
import type { Stage } from './stage.ts'
import { payWorkers, unlike } from './third.ts'

const size = (stage: Stage) => ({
  payers: stage.int(15, 80),
  payees: stage.int(5, 30),
  payments: stage.int(150, 350),
  usdc: stage.around(6),
})

const contract = (stage: Stage) =>
  stage.known({ listed_hub: false, age_days: 200, recipients: 90, contract: true })

const provider = (stage: Stage, facts: Readonly<Record<string, number>>) =>
  stage.known({ listed_hub: false, age_days: 300, recipients: 5, contract: false, ...facts })

/** Each payer receives a little more than it spends from the wallet that `source` names. */
function fill(
  stage: Stage,
  spent: ReadonlyMap<string, number>,
  source: () => string,
  day = 35,
): void {
  for (const [payer, usdc] of spent) stage.send(source(), payer, usdc * 1.05, day)
}

const puppetsOf = (stage: Stage, least = 10, most = 40) =>
  unlike(stage, stage.wallets(stage.int(least, most)), stage.wallets(5))

const sumOf = (spent: ReadonlyMap<string, number>) =>
  [...spent.values()].reduce((sum, usdc) => sum + usdc, 0)

/** Workers that send a provider a part of what they earned. */
function workersOf(stage: Stage, shop: string, least: number, most: number): void {
  const payees = stage.wallets(12)
  const earned = payWorkers(stage, stage.wallets(40), payees)
  for (const [payee, usdc] of earned) {
    stage.send(payee, shop, usdc * (least + (most - least) * stage.unit()), 1)
  }
}

export const fourthDishonest: Readonly<Record<string, Family>> = {
  'two sources of equal size': (stage) => {
    const sources = [stage.ordinary(), stage.ordinary()]
    fill(stage, puppetsOf(stage), () => stage.pick(sources))
  },
  'eight sources, each filled from an exchange': (stage) => {
    const sources = Array.from({ length: 8 }, stage.ordinary)
    for (const source of sources) stage.send(stage.exchange(), source, 500, 45)
    fill(stage, puppetsOf(stage, 20), () => stage.pick(sources))
  },
  'payers that fund the next payer': (stage) => {
    const spent = puppetsOf(stage, 10, 30)
    let [left, from, day] = [sumOf(spent) * 1.05, stage.ordinary(), 45]
    for (const [payer, usdc] of spent) {
      stage.send(from, payer, left, day)
      left -= usdc * 1.05
      from = payer
      day -= 0.3
    }
  },
  'workers that pay back through a multisender': (stage) => {
    const splitter = stage.known({
      listed_hub: false,
      age_days: 500,
      recipients: 5000,
      contract: true,
    })
    const payees = stage.wallets(6)
    const spent = unlike(stage, stage.wallets(stage.int(10, 30)), payees)
    const [vault, sum] = [stage.ordinary(), sumOf(spent)]
    fill(stage, spent, () => splitter, 31.5)
    stage.send(vault, splitter, sum * 1.05, 31.5)
    for (const payee of payees) stage.send(payee, vault, (sum / 6) * 0.9, 1)
  },
  'a ring of 40 with side payments': (stage) => {
    const wallets = stage.wallets(40)
    for (let round = 0; round < 4; round += 1) {
      let usdc = stage.around(100)
      const start = stage.someTime(days, 6)
      for (const [index, wallet] of wallets.entries()) {
        stage.pay(wallet, wallets[(index + 1) % 40] ?? '', usdc, start - (index * start) / 41)
        usdc *= 0.99
      }
    }
    for (let count = 200; count > 0; count -= 1) {
      stage.pay(stage.pick(wallets), stage.pick(wallets), stage.around(3), stage.someTime())
    }
  },
  'circulation over five intermediaries': (stage) => {
    const payees = stage.wallets(8)
    const spent = unlike(stage, stage.wallets(20), payees)
    const sum = sumOf(spent)
    let from = stage.ordinary()
    for (const payee of payees) stage.send(payee, from, (sum / 8) * 0.95, 2)
    for (let hop = 0; hop < 4; hop += 1) {
      const next = stage.ordinary()
      stage.send(from, next, sum * 0.9, 1.9 - hop / 10)
      from = next
    }
    fill(stage, spent, () => from, 31)
  },
  'each half from an exchange or all from it': (stage) => {
    const source = stage.ordinary()
    for (const [payer, usdc] of puppetsOf(stage)) {
      const isOwn = stage.chance(0.5)
      if (isOwn) stage.send(source, payer, usdc * 0.55, 35)
      stage.send(stage.exchange(), payer, usdc * (isOwn ? 0.5 : 1.05), 36)
    }
  },
  'two sessions': (stage) => {
    const starts = [stage.int(3, 12), stage.int(15, 26)]
    const payees = stage.wallets(5)
    for (const payer of stage.wallets(stage.int(10, 30))) {
      for (let count = stage.int(1, 9); count > 0; count -= 1) {
        const time = stage.pick(starts) + stage.unit() / 15
        stage.pay(payer, stage.pick(payees), stage.around(8, 0.9), time)
      }
      stage.send(stage.exchange(), payer, 200, 35)
    }
  },
}

export const fourthHonest: Readonly<Record<string, Family>> = {
  'a provider with 25 to 190 senders': (stage) => {
    const { payees } = market(stage, size(stage))
    const shop = provider(stage, { senders: stage.int(25, 190) })
    for (const payee of payees) stage.send(payee, shop, 30, 1)
  },
  'a provider of strangers that earns nine tenths': (stage) =>
    workersOf(stage, provider(stage, { senders: 3000 }), 0.9, 0.98),
  'a provider whose senders are unknown': (stage) =>
    workersOf(stage, provider(stage, {}), 0.7, 0.85),
  'a company that fills five of thirty customers': (stage) => {
    const { payers } = market(stage, { ...size(stage), payers: 30 })
    const company = stage.ordinary()
    for (const payer of payers.slice(25)) stage.send(company, payer, 200, 40)
  },
  'an escrow contract that keeps balances for weeks': (stage) => {
    const [escrow, payees] = [contract(stage), stage.wallets(stage.int(5, 20))]
    for (const customer of stage.wallets(stage.int(12, 60))) {
      const usdc = stage.around(40, 0.8)
      stage.send(customer, escrow, usdc, stage.int(32, 50))
      stage.fund(customer, usdc)
      for (let count = 0; count < 3; count += 1) {
        stage.pay(escrow, stage.pick(payees), usdc * 0.3, stage.someTime())
      }
    }
  },
  'an escrow contract with one large customer': (stage) => {
    const [escrow, payees] = [contract(stage), stage.wallets(12)]
    for (const [index, customer] of stage.wallets(25).entries()) {
      for (let count = 0; count < 3; count += 1) {
        const [usdc, time] = [stage.around(index === 0 ? 300 : 8, 0.3), stage.someTime()]
        stage.send(customer, escrow, usdc, time + 1)
        stage.pay(escrow, stage.pick(payees), usdc * 0.97, time)
      }
      stage.fund(customer, index === 0 ? 1000 : 30)
    }
  },
  'an escrow contract beside wallets that pay most': (stage) => {
    const { payees } = market(stage, size(stage))
    const escrow = contract(stage)
    for (const customer of stage.wallets(8)) {
      stage.send(customer, escrow, 40, 20)
      stage.pay(escrow, stage.pick(payees), 38, 19)
    }
  },
  'an exchange that pays four fifths': (stage) => {
    const { payees } = market(stage, { payers: 20, payees: 10, payments: 120, usdc: 4 })
    const hot = stage.exchange()
    for (let count = 150; count > 0; count -= 1) {
      stage.pay(hot, stage.pick(payees), stage.around(15, 0.8), stage.someTime())
    }
  },
  'an on-ramp with more senders than recipients': (stage) => {
    const ramp = stage.known({
      listed_hub: false,
      age_days: 60,
      recipients: 40,
      senders: 800,
      contract: false,
    })
    fill(stage, unlike(stage, stage.wallets(stage.int(12, 50)), stage.wallets(10)), () => ramp)
  },
  'a week of work at one price': (stage) => {
    const payees = stage.wallets(8)
    for (const payer of stage.wallets(30)) {
      for (let count = stage.int(1, 6); count > 0; count -= 1) {
        stage.pay(payer, stage.pick(payees), 5, stage.someTime(7))
      }
      stage.fund(payer, 40)
    }
  },
  'a metered bill every third day': (stage) => {
    const payees = stage.wallets(6)
    for (const payer of stage.wallets(stage.int(10, 40))) {
      const [usual, provider] = [stage.around(6), stage.pick(payees)]
      for (let time = stage.unit() * 3; time < days; time += 3) {
        stage.pay(payer, provider, usual * (0.6 + 0.8 * stage.unit()), time)
      }
      for (const day of [4, 8]) stage.pay(payer, stage.pick(payees), 3, day)
      stage.fund(payer, usual * 14)
    }
  },
  'a bonus of 3 USDC for each customer': (stage) => {
    const { payers } = market(stage, { ...size(stage), usdc: stage.around(1.5, 0.3) })
    const sponsor = stage.ordinary()
    for (const payer of payers) stage.send(sponsor, payer, 3, 33)
  },
  'grants for a third of the customers': (stage) => {
    const { payers } = market(stage, size(stage))
    const [splitter, sponsor] = [contract(stage), stage.ordinary()]
    const some = payers.slice(0, Math.floor(payers.length / 3))
    for (const payer of some) stage.send(splitter, payer, 200, 33.5)
    stage.send(sponsor, splitter, 200 * some.length, 33.5)
  },
  'agents that all buy from each other': (stage) => {
    const wallets = stage.wallets(stage.int(20, 50))
    for (let count = 500; count > 0; count -= 1) {
      const [payer, payee] = [stage.pick(wallets), stage.pick(wallets)]
      if (payer !== payee) stage.pay(payer, payee, stage.around(3, 0.8), stage.someTime())
    }
    for (const wallet of wallets) stage.fund(wallet, 60)
  },
  'a supply chain of agents': (stage) => {
    const [middle, last] = [stage.wallets(10), stage.wallets(6)]
    for (const payer of stage.wallets(20)) {
      stage.fund(payer, 60)
      for (let count = 0; count < 5; count += 1) {
        const [usdc, time, agent] = [stage.around(10), stage.someTime(days, 2), stage.pick(middle)]
        stage.pay(payer, agent, usdc, time)
        stage.pay(agent, stage.pick(last), usdc * 0.7, time - 0.5)
      }
    }
  },
}

/** What they show on the chain is also what an honest rail shows, or the reverse: no target is set for them. */
export const limitsDishonest: Readonly<Record<string, Family>> = {
  'a source with 250 senders of its own': (stage) => {
    const source = provider(stage, { age_days: 45, recipients: 60, senders: 250 })
    fill(stage, puppetsOf(stage), () => source)
  },
  'an escrow contract of its own, filled from an exchange': (stage) => {
    const [escrow, payees] = [contract(stage), stage.wallets(8)]
    for (const customer of stage.wallets(12)) {
      stage.send(stage.exchange(), customer, 60, 40)
      stage.send(customer, escrow, 58, 32)
    }
    for (let count = 120; count > 0; count -= 1) {
      stage.pay(escrow, stage.pick(payees), stage.around(5), stage.someTime())
    }
  },
}

export const limitsHonest: Readonly<Record<string, Family>> = {
  'an escrow wallet that is no contract': (stage) => {
    const [escrow, payees] = [provider(stage, { recipients: 150, senders: 60 }), stage.wallets(12)]
    for (const customer of stage.wallets(30)) {
      for (let count = 0; count < 3; count += 1) {
        const [usdc, time] = [stage.around(10), stage.someTime()]
        stage.send(customer, escrow, usdc, time + 1)
        stage.pay(escrow, stage.pick(payees), usdc * 0.97, time)
      }
      stage.fund(customer, 40)
    }
  },
}
