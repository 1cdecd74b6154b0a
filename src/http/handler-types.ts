/** What handlers are given and what they answer, inferred from the route registry. Types only. */
import type { IncomingMessage } from 'node:http'

import type { ClientFingerprint } from '../actions/client-fingerprint.ts'
import type { Outcome, WriteRequest } from '../actions/idempotency.ts'
import type { AnswerOfRoute, DeepReadonly, RouteById, RouteInput } from '../contract/route-types.ts'
import type { Route } from '../contract/route.ts'
import type { HandlerRouteId } from '../contract/routes.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import type { CachePolicy } from './answer.ts'
import type { PartnerProof } from './partner-auth.ts'

export interface ReadContext {
  readonly incoming: IncomingMessage
  /** The clock, read once. */
  readonly nowMs: number
  /**
   * Verifies the partner credentials of this request and charges the wallet for the call.
   * @throws ApiError 401, also where none were sent; 429 where the wallet is over its limit
   */
  readonly partner: () => Promise<PartnerProof>
  /** Signed calls that the wallet has left after this one; null without a limit. */
  readonly walletCallsLeft: () => number | null
}

export interface WriteContext extends ReadContext {
  /** The body as it was sent, which signatures in it cover. */
  readonly json: JsonObject
  /** Lower-case hex of the bytes. */
  readonly rawSha256: string
  /** For `commitOnce`. */
  readonly request: WriteRequest
  readonly admission: WalletAdmission
  readonly fingerprint: ClientFingerprint
}

interface AnswerOptions {
  /** By default the policy of the route. */
  readonly cache?: CachePolicy
  readonly headers?: Readonly<Record<string, string>>
}

/** Text of the content type in the registry, or bytes of another. */
export type TextAnswer =
  | { readonly text: string }
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly contentType: string }

export type ReadAnswer = AnswerOptions & ({ readonly body: object } | TextAnswer)

type ReadAnswerOf<R extends Route> = AnswerOptions &
  (AnswerOfRoute<R> extends string ? TextAnswer : { readonly body: DeepReadonly<AnswerOfRoute<R>> })

type WriteAnswerOf<R extends Route> = Outcome<AnswerOfRoute<R> & object> & AnswerOptions

type ReadHandler<R extends Route> =
  | ((input: RouteInput<R>, context: ReadContext) => Promise<ReadAnswerOf<R>>)
  | {
      /** For a route with a price: throws before anybody is asked to pay for what does not exist. */
      readonly check: (input: RouteInput<R>) => void
      readonly handle: (input: RouteInput<R>, context: ReadContext) => Promise<ReadAnswerOf<R>>
    }

type WriteHandler<R extends Route> = (
  input: RouteInput<R>,
  context: WriteContext,
) => Promise<WriteAnswerOf<R>>

export type Handler<R extends Route> = R extends { readonly method: 'GET' }
  ? ReadHandler<R>
  : WriteHandler<R>

/** One handler for each route that code answers; the compiler reports one that is missing. */
export type Handlers = { readonly [Id in HandlerRouteId]: Handler<RouteById<Id>> }
