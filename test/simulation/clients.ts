/** The clients of the service: requests and reads, each tracked until it is answered. */
import { send } from './http-call.ts'
import type { Call } from './http-call.ts'
import type { Emails } from './oracle/emails.ts'
import { iso } from './oracle/facts.ts'
import type { Flight } from './oracle/flight.ts'
import type { LedgerOracle } from './oracle/ledger.ts'
import type { PaymentWorld } from './payment-world.ts'
import type { ServiceProcess } from './processes.ts'
import type { Chance } from './random.ts'
import { drawRequest } from './requests/draw.ts'
import type { Kind } from './requests/operations.ts'
import { drawRead, drawPaidRead, withOtherRead } from './requests/reads.ts'
import type { PaidRead } from './requests/reads.ts'
import { repeatRequest } from './requests/request.ts'
import type { SimulatedRequest } from './requests/request.ts'
import type { Run } from './run.ts'

export type Clients = ReturnType<typeof createClients>

interface Step {
  readonly number: number
  readonly chance: Chance
}

export function createClients(
  { machine, installation, log }: Run,
  {
    oracle,
    paymentWorld,
    emails,
    service,
  }: {
    readonly oracle: LedgerOracle
    readonly paymentWorld: PaymentWorld
    readonly emails: Emails
    readonly service: () => ServiceProcess
  },
) {
  const { keyedHash, reference } = installation
  const requests: SimulatedRequest[] = []
  const paidReads: PaidRead[] = []
  let calmTroubles = 0

  function start(
    flight: Pick<Flight, 'name'> & Partial<Pick<Flight, 'request' | 'wanted' | 'paid'>>,
    call: Call,
  ): void {
    // A request during a fault may suffer from it.
    if (oracle.flights.size === 0) calmTroubles = machine.troubles()
    const { process, server } = service()
    const begun = oracle.begin({
      request: null,
      wanted: null,
      paid: null,
      ...flight,
      nowMs: machine.nowMs(),
      troubles: calmTroubles,
      headMs: paymentWorld.chain.head().timeMs,
      answerFaults: paymentWorld.answerFaults(),
    })
    log(`${iso(begun.nowMs)} ${flight.name} ${call.method} ${call.path} ${call.raw}`)
    send(server, call, (answer) => {
      if (!process.isAlive || !oracle.flights.has(begun)) return
      oracle.answered(begun, answer, process.isBroken || machine.troubles() > begun.troubles)
    })
  }

  function post(request: SimulatedRequest, how = ''): void {
    const { number, kind, key } = request
    const name = [`#${number}`, kind, how, key ?? ''].filter((word) => word !== '').join(' ')
    start({ name, request }, request)
  }

  function pay(paid: PaidRead, how: string): void {
    const nonce = paid.payment?.authorization.nonce.slice(0, 10) ?? 'nothing'
    start({ name: `#${paid.number} paid read ${how} for ${nonce}`, paid }, paid)
  }

  return {
    ask: async (kind: Kind, isWilling: boolean, { number, chance }: Step): Promise<void> => {
      const { codesTo } = emails
      const [db, nowMs] = [oracle.db(), machine.nowMs()]
      const at = { number, kind, db, nowMs, reference, chance, isWilling, keyedHash, codesTo }
      const request = await drawRequest(at)
      if (request === null) return
      requests.push(request)
      post(request)
    },
    repeat: ({ number, chance }: Step): void => {
      const earlier = requests[chance.below(requests.length)]
      if (earlier === undefined) return
      const isUnderWay = [...oracle.flights].some(({ request }) => request?.raw === earlier.raw)
      if (earlier.proofs.length === 0 && isUnderWay) return
      post(repeatRequest(earlier, number, chance.happens(0.2)), `again #${earlier.number}`)
    },
    resend: (request: SimulatedRequest, number: number): void =>
      post(repeatRequest(request, number, false), `again #${request.number}`),
    /** Requests a sold read; at times twice at once, or another one with the same payment. */
    buy: ({ number, chance }: Step): void => {
      const paid = drawPaidRead({
        number,
        chance,
        nowMs: machine.nowMs(),
        db: oracle.db(),
        payerWallets: paymentWorld.payerWallets,
        people: paymentWorld.people,
        before: paidReads,
      })
      paidReads.push(paid)
      pay(paid, 'first')
      if (chance.happens(0.06)) paymentWorld.stranger(chance, paid.payment)
      const second = chance.weighted({ none: 72, same: 17, other: 11 })
      if (second === 'same') pay(paid, 'twice')
      if (second === 'other') pay(withOtherRead(paid, number, chance), 'elsewhere')
    },
    buyAgain: (paid: PaidRead, number: number): void => pay({ ...paid, number }, 'again'),
    look: ({ number, chance }: Step): void => {
      const read = drawRead(chance, oracle.db())
      if (read === null) return
      const { path, wanted } = read
      const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
      start({ name: `#${number} read`, wanted }, call)
    },
  }
}
