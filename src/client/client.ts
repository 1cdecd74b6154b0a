/** The typed client: one call function for every route of the registry. */
import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import type { Clock, Random } from '../core/deps.ts'
import { prepareCall, readAnswer } from './call.ts'
import type { Call, CallParts } from './call.ts'
import { siteUrlOf } from './prepare.ts'
import type { Caller } from './prepare.ts'
import type { WalletSigner } from './signers.ts'
import { send } from './transport.ts'
import type { RawAnswer, TransportDeps } from './transport.ts'

export interface ClientOptions extends TransportDeps {
  /** Scheme, host and port of the site, with or without `/api/v1`. */
  readonly baseUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  /** Needed for everything that is signed. */
  readonly signer?: WalletSigner | undefined
}

/** May be left out where the route needs none. */
type PartsArgument<Id extends RouteId> =
  object extends CallParts<Id> ? [parts?: CallParts<Id>] : [parts: CallParts<Id>]

export interface LedgerClient {
  /**
   * Signs and sends a call: `client.call('getRail', { params: { name: 'x402' } })`.
   * @throws CallError, LedgerError, LedgerUnreachableError, UnexpectedAnswerError
   */
  readonly call: <Id extends RouteId>(id: Id, ...parts: PartsArgument<Id>) => Promise<AnswerOf<Id>>
  /** Signs the same call without sending it. @throws CallError */
  readonly prepare: <Id extends RouteId>(id: Id, ...parts: PartsArgument<Id>) => Promise<Call<Id>>
  /** Sends a prepared call. @throws LedgerError, LedgerUnreachableError, UnexpectedAnswerError */
  readonly submit: <Id extends RouteId>(call: Call<Id>) => Promise<AnswerOf<Id>>
  /** Sends a prepared call and returns the answer's bytes and headers unread. */
  readonly submitRaw: (call: Call<RouteId>) => Promise<RawAnswer>
  /** For `prepareCall` of routes that are known at run time only. */
  readonly caller: Caller
}

/** @throws CallError where `baseUrl` cannot be the address of a ledger. */
export function createClient(options: ClientOptions): LedgerClient {
  const { baseUrl, serviceName, clock, random, signer = null } = options
  const caller = { siteUrl: siteUrlOf(baseUrl), serviceName, clock, random, signer }
  const submitRaw = (call: Call<RouteId>) => send(options, call.request)
  const submit = async <Id extends RouteId>(call: Call<Id>) =>
    readAnswer(call.route, await submitRaw(call))
  return {
    caller,
    submit,
    submitRaw,
    prepare: (id, ...[parts]) => prepareCall(caller, id, parts),
    call: async (id, ...[parts]) => await submit(await prepareCall(caller, id, parts)),
  }
}
