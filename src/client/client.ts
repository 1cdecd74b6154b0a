/** The typed client: one function per call; each sends what its namesake in `calls` prepares. */
import type { RouteId } from '../contract/routes.ts'
import type { Clock, Random } from '../core/deps.ts'
import { entriesOf } from '../core/entries.ts'
import { readAnswer } from './call.ts'
import type { AnswerOf, Call } from './call.ts'
import { jobCalls } from './job-calls.ts'
import { marketCalls } from './market-calls.ts'
import { partnerCalls } from './partner-calls.ts'
import { siteUrlOf } from './prepare.ts'
import type { Caller } from './prepare.ts'
import { readCalls } from './reads.ts'
import type { Signer } from './signers.ts'
import { send } from './transport.ts'
import type { RawAnswer, TransportDeps } from './transport.ts'
import { workerCalls } from './writes.ts'

export interface ClientOptions extends TransportDeps {
  /** Scheme, host and port of the site, with or without `/api/v1`. */
  readonly baseUrl: string
  /** Stands for `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  /** Needed for everything that is signed. */
  readonly signer?: Signer | undefined
}

function callsOf(caller: Caller) {
  return {
    ...readCalls(caller),
    ...workerCalls(caller),
    ...partnerCalls(caller),
    ...jobCalls(caller),
    ...marketCalls(caller),
  }
}

type Calls = ReturnType<typeof callsOf>
type Answered<Prepared> = Prepared extends Promise<Call<infer Id>> ? Promise<AnswerOf<Id>> : never

export type LedgerClient = {
  readonly [Name in keyof Calls]: (
    ...args: Parameters<Calls[Name]>
  ) => Answered<ReturnType<Calls[Name]>>
} & {
  /** The same calls, signed and ready but not sent: for those who want to see them first. */
  readonly calls: Calls
  /** Sends a call. @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError */
  readonly submit: <Id extends RouteId>(call: Call<Id>) => Promise<AnswerOf<Id>>
  /** Sends a call; the bytes of the answer as they came, with their headers. */
  readonly submitRaw: (call: Call<RouteId>) => Promise<RawAnswer>
}

/** @throws CallError where the address is none of a ledger. */
export function createClient(options: ClientOptions): LedgerClient {
  const { baseUrl, serviceName, clock, random, signer = null } = options
  const siteUrl = siteUrlOf(baseUrl)
  const calls = callsOf({ siteUrl, serviceName, clock, random, signer })
  const submitRaw = (call: Call<RouteId>) => send(options, call.request)
  const submit = async <Id extends RouteId>(call: Call<Id>) =>
    readAnswer(call.route, await submitRaw(call))
  const sending = entriesOf<Readonly<Record<string, AnyCall>>>(calls).map(([name, call]) => [
    name,
    async (...args: never[]) => submit(await call(...args)),
  ])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names, each sent by submit
  return { ...Object.fromEntries(sending), calls, submit, submitRaw } as LedgerClient
}

type AnyCall = (...args: never[]) => Promise<Call<RouteId>>
