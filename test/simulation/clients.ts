/** Whoever asks the service: requests and reads, each followed until it is answered. */
import { send } from './call.ts'
import type { Call } from './call.ts'
import type { Installation } from './installation.ts'
import { lookAt } from './looks.ts'
import type { Machine } from './machine.ts'
import { iso } from './model/reading.ts'
import type { Step } from './plan.ts'
import type { ServiceProcess } from './processes.ts'
import type { Chance } from './random.ts'
import type { kinds } from './requests/operations.ts'
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
  readonly look: (number: number, chance: Chance) => void
}

export function createClients(given: {
  readonly machine: Machine
  readonly installation: Installation
  readonly witness: Witness
  readonly service: () => ServiceProcess
  readonly log: (line: string) => void
}): Clients {
  const { machine, installation, witness, log } = given
  const sentBefore: Sent[] = []
  let calm = 0

  function start(flight: Pick<Flight, 'name' | 'sent' | 'look'>, call: Call): void {
    // Whoever comes while others still suffer from a trouble may suffer with them.
    if (witness.flights.size === 0) calm = machine.troubles()
    const { process, server } = given.service()
    const under = witness.begun({ ...flight, nowMs: machine.nowMs(), troubles: calm })
    send(server, call, (answer) => {
      if (!process.isAlive || !witness.flights.has(under)) return
      witness.answered(under, answer, process.isBroken || machine.troubles() > under.troubles)
    })
  }

  function post(sent: Sent, how: string): void {
    const name = `#${sent.number} ${sent.intent.kind} ${how}`.trim()
    log(`${iso(machine.nowMs())} ${name} ${sent.method} ${sent.path} ${sent.key ?? ''} ${sent.raw}`)
    start({ name, sent, look: null }, sent)
  }

  return {
    ask: async (kind, { number, chance, isWilling }) => {
      const { reference } = installation
      const remoteKey = (address: string) => installation.keyedHash('remote', address)
      const [state, nowMs] = [witness.state(), machine.nowMs()]
      const at = { number, state, nowMs, reference, chance, isWilling, remoteKey }
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
    look: (number, chance) => {
      const look = lookAt(chance, witness.state())
      if (look === null) return
      const { path, wanted } = look
      const name = `#${number} look at ${path}`
      log(`${iso(machine.nowMs())} ${name}`)
      const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
      start({ name, sent: null, look: wanted }, call)
    },
  }
}
