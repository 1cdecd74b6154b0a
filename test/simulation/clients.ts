/** Whoever asks the service: requests and reads, each followed until it is answered. */
import { send } from './call.ts'
import type { Call } from './call.ts'
import type { Installation } from './installation.ts'
import type { Letters } from './letters.ts'
import { lookAt } from './looks.ts'
import type { Machine } from './machine.ts'
import type { Market } from './market.ts'
import { iso } from './model/reading.ts'
import type { Step } from './plan.ts'
import type { ServiceProcess } from './processes.ts'
import type { Chance } from './random.ts'
import type { kinds } from './requests/operations.ts'
import { elsewhere, paidRead } from './requests/reads.ts'
import type { PaidRead } from './requests/reads.ts'
import { request } from './requests/request.ts'
import { again } from './requests/sent.ts'
import type { Sent } from './requests/sent.ts'
import type { Flight, Witness } from './witness.ts'

export interface Clients {
  readonly ask: (
    kind: (typeof kinds)[number],
    step: Pick<Step, 'isWilling'> & { readonly number: number; readonly chance: Chance },
  ) => Promise<void>
  /** Sends something again that was sent before. */
  readonly askAgain: (number: number, chance: Chance) => void
  /** The very same again, where nobody has answered. */
  readonly insist: (sent: Sent, number: number) => void
  /** Asks for a read that is sold; at times twice at once, or for something else beside. */
  readonly buy: (number: number, chance: Chance) => void
  /** The same payment again, for the same. */
  readonly buyAgain: (paid: PaidRead, number: number) => void
  readonly look: (number: number, chance: Chance) => void
}

export function createClients(given: {
  readonly machine: Machine
  readonly installation: Installation
  readonly witness: Witness
  readonly market: Market
  readonly letters: Letters
  readonly service: () => ServiceProcess
  readonly log: (line: string) => void
}): Clients {
  const { machine, installation, witness, market, letters, log } = given
  const sentBefore: Sent[] = []
  const paidBefore: PaidRead[] = []
  let calm = 0

  function start(flight: Pick<Flight, 'name' | 'sent' | 'look' | 'paid'>, call: Call): void {
    // Whoever comes while others still suffer from a trouble may suffer with them.
    if (witness.flights.size === 0) calm = machine.troubles()
    const { process, server } = given.service()
    const under = witness.begun({
      ...flight,
      nowMs: machine.nowMs(),
      troubles: calm,
      headMs: market.chain.head().timeMs,
      mischief: market.mischief(),
    })
    send(server, call, (answer) => {
      if (!process.isAlive || !witness.flights.has(under)) return
      witness.answered(under, answer, process.isBroken || machine.troubles() > under.troubles)
    })
  }

  function post(sent: Sent, how: string): void {
    const name = `#${sent.number} ${sent.intent.kind} ${how}`.trim()
    log(`${iso(machine.nowMs())} ${name} ${sent.method} ${sent.path} ${sent.key ?? ''} ${sent.raw}`)
    start({ name, sent, look: null, paid: null }, sent)
  }

  function pay(paid: PaidRead, how: string): void {
    const { number, path, cheque } = paid
    const nonce = cheque?.authorization.nonce.slice(0, 10) ?? 'nothing'
    const name = `#${number} read ${how}`.trim()
    log(`${iso(machine.nowMs())} ${name} ${path} for ${nonce}`)
    start({ name, sent: null, look: null, paid }, paid)
  }

  return {
    ask: async (kind, { number, chance, isWilling }) => {
      const { reference } = installation
      const remoteKey = (address: string) => installation.keyedHash('remote', address)
      const [state, nowMs] = [witness.state(), machine.nowMs()]
      const at = { number, state, nowMs, reference, chance, isWilling, remoteKey, letters }
      const sent = await request(kind, at)
      if (sent === null) return
      sentBefore.push(sent)
      post(sent, '')
    },
    askAgain: (number, chance) => {
      const sent = sentBefore[chance.below(sentBefore.length)]
      if (sent === undefined) return
      const isUnderWay = [...witness.flights].some((flight) => flight.sent?.raw === sent.raw)
      if (sent.proofs.length === 0 && isUnderWay) return
      post(again(sent, number, chance.happens(0.2)), `again #${sent.number}`)
    },
    insist: (sent, number) => post(again(sent, number, false), `again #${sent.number}`),
    buy: (number, chance) => {
      const { purse, people } = market
      const nowMs = machine.nowMs()
      const paid = paidRead({
        number,
        nowMs,
        chance,
        purse,
        people,
        before: paidBefore,
        state: witness.state(),
      })
      paidBefore.push(paid)
      pay(paid, '')
      if (chance.happens(0.06)) market.stranger(chance, paid.cheque)
      const beside = chance.weighted({ none: 72, same: 17, other: 11 })
      if (beside === 'same') pay(paid, 'at once')
      if (beside === 'other') pay(elsewhere(paid, number, chance), 'elsewhere')
    },
    buyAgain: (paid, number) => pay({ ...paid, number }, 'again'),
    look: (number, chance) => {
      const look = lookAt(chance, witness.state())
      if (look === null) return
      const { path, wanted } = look
      const name = `#${number} look at ${path}`
      log(`${iso(machine.nowMs())} ${name}`)
      const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
      start({ name, sent: null, look: wanted, paid: null }, call)
    },
  }
}
