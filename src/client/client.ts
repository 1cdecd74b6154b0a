import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import type { Clock, Random } from '../core/deps.ts'
import { prepareCall, readAnswer } from './call.ts'
import type { Call, CallParts } from './call.ts'
import { siteUrlOf } from './prepare.ts'
import type { Caller } from './prepare.ts'
import type { WalletSigner } from './signers.ts'
import { send } from './transport.ts'
import type { TransportDeps } from './transport.ts'

interface ClientOptions extends TransportDeps {
  /** Scheme, host and port of the site, with or without `/api/v1`. */
  readonly baseUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer?: WalletSigner | undefined
}

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
  /** Passed to `prepareCall` for routes known only at run time. */
  readonly caller: Caller
}

/** @throws CallError if `baseUrl` is not a valid ledger address */
export function createClient(options: ClientOptions): LedgerClient {
  const { baseUrl, serviceName, clock, random, signer = null } = options
  const caller = { siteUrl: siteUrlOf(baseUrl), serviceName, clock, random, signer }
  const submit = async <Id extends RouteId>({ route, request }: Call<Id>) =>
    readAnswer(route, await send(options, request))
  return {
    caller,
    submit,
    prepare: (id, ...[parts]) => prepareCall(caller, id, parts),
    call: async (id, ...[parts]) => await submit(await prepareCall(caller, id, parts)),
  }
}
