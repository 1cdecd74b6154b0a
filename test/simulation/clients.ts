import type { Emails } from './emails.ts'
/** The clients of the service: requests and reads, each tracked until it is answered. */
import { send } from './http-call.ts'
import type { Call } from './http-call.ts'
import type { Installation } from './installation.ts'
import type { Flight, LedgerOracle } from './ledger-oracle.ts'
import type { Machine } from './machine.ts'
import { iso } from './model/reading.ts'
import type { PaymentWorld } from './payment-world.ts'
import type { Step } from './plan.ts'
import type { ServiceProcess } from './processes.ts'
import type { Chance } from './random.ts'
import { drawRead } from './reads-by-id.ts'
import type { kinds } from './requests/operations.ts'
import { elsewhere, paidRead } from './requests/reads.ts'
import type { PaidRead } from './requests/reads.ts'
import { request } from './requests/request.ts'
import { again } from './requests/sent.ts'
import type { Sent } from './requests/sent.ts'

export interface Clients {
  readonly ask: (
    kind: (typeof kinds)[number],
    step: Pick<Step, 'isWilling'> & { readonly number: number; readonly chance: Chance },
  ) => Promise<void>
  readonly askAgain: (number: number, chance: Chance) => void
  readonly insist: (sent: Sent, number: number) => void
  /** Requests a sold read; at times twice at once, or another one beside it. */
  readonly buy: (number: number, chance: Chance) => void
  readonly buyAgain: (paid: PaidRead, number: number) => void
  readonly look: (number: number, chance: Chance) => void
}

export function createClients(given: {
  readonly machine: Machine
  readonly installation: Installation
  readonly oracle: LedgerOracle
  readonly paymentWorld: PaymentWorld
  readonly emails: Emails
  readonly service: () => ServiceProcess
  readonly log: (line: string) => void
}): Clients {
  const { machine, installation, oracle, paymentWorld, emails, log } = given
  const sentBefore: Sent[] = []
  const paidBefore: PaidRead[] = []
  let calm = 0

  function start(flight: Pick<Flight, 'name' | 'sent' | 'look' | 'paid'>, call: Call): void {
    // A request during a fault may suffer from it.
    if (oracle.flights.size === 0) calm = machine.troubles()
    const { process, server } = given.service()
    const under = oracle.begun({
      ...flight,
      nowMs: machine.nowMs(),
      troubles: calm,
      headMs: paymentWorld.chain.head().timeMs,
      answerFaults: paymentWorld.answerFaults(),
    })
    send(server, call, (answer) => {
      if (!process.isAlive || !oracle.flights.has(under)) return
      oracle.answered(under, answer, process.isBroken || machine.troubles() > under.troubles)
    })
  }

  function post(sent: Sent, how: string): void {
    const name = `#${sent.number} ${sent.intent.kind} ${how}`.trim()
    log(`${iso(machine.nowMs())} ${name} ${sent.method} ${sent.path} ${sent.key ?? ''} ${sent.raw}`)
    start({ name, sent, look: null, paid: null }, sent)
  }

  function pay(paid: PaidRead, how: string): void {
    const { number, path, payment } = paid
    const nonce = payment?.authorization.nonce.slice(0, 10) ?? 'nothing'
    const name = `#${number} read ${how}`.trim()
    log(`${iso(machine.nowMs())} ${name} ${path} for ${nonce}`)
    start({ name, sent: null, look: null, paid }, paid)
  }

  return {
    ask: async (kind, { number, chance, isWilling }) => {
      const { reference } = installation
      const remoteKey = (address: string) => installation.keyedHash('remote', address)
      const [state, nowMs] = [oracle.state(), machine.nowMs()]
      const at = { number, state, nowMs, reference, chance, isWilling, remoteKey, emails }
      const sent = await request(kind, at)
      if (sent === null) return
      sentBefore.push(sent)
      post(sent, '')
    },
    askAgain: (number, chance) => {
      const sent = sentBefore[chance.below(sentBefore.length)]
      if (sent === undefined) return
      const isUnderWay = [...oracle.flights].some((flight) => flight.sent?.raw === sent.raw)
      if (sent.proofs.length === 0 && isUnderWay) return
      post(again(sent, number, chance.happens(0.2)), `again #${sent.number}`)
    },
    insist: (sent, number) => post(again(sent, number, false), `again #${sent.number}`),
    buy: (number, chance) => {
      const { payerWallets, people } = paymentWorld
      const nowMs = machine.nowMs()
      const paid = paidRead({
        number,
        nowMs,
        chance,
        payerWallets,
        people,
        before: paidBefore,
        state: oracle.state(),
      })
      paidBefore.push(paid)
      pay(paid, '')
      if (chance.happens(0.06)) paymentWorld.stranger(chance, paid.payment)
      const beside = chance.weighted({ none: 72, same: 17, other: 11 })
      if (beside === 'same') pay(paid, 'at once')
      if (beside === 'other') pay(elsewhere(paid, number, chance), 'elsewhere')
    },
    buyAgain: (paid, number) => pay({ ...paid, number }, 'again'),
    look: (number, chance) => {
      const look = drawRead(chance, oracle.state())
      if (look === null) return
      const { path, wanted } = look
      const name = `#${number} look at ${path}`
      log(`${iso(machine.nowMs())} ${name}`)
      const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
      start({ name, sent: null, look: wanted, paid: null }, call)
    },
  }
}
