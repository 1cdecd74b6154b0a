import type { IncomingMessage } from 'node:http'

import type { Outcome, WriteRequest } from '../actions/idempotency.ts'
import type { BearerProof } from '../actions/partner-access.ts'
import type { ClientFingerprint } from '../actions/write-quotas.ts'
import type { AnswerOfRoute, DeepReadonly, RouteInput } from '../contract/route-types.ts'
import type { RouteFacts } from '../contract/route.ts'
import type { HandlerRouteId, RouteById } from '../contract/routes.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { ReadList } from '../db/lists.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import type { CachePolicy } from './answer.ts'

export interface ReadContext {
  readonly incoming: IncomingMessage
  readonly nowMs: number
  /** Reads of lists; they end when the client disconnects. @throws ListEndedError after the deadline */
  readonly list: ReadList
  /** Verifies the credentials and charges the wallet. @throws ApiError 401, or 429 if the wallet is over its limit */
  readonly partner: () => Promise<BearerProof>
  readonly admission: WalletAdmission
  /** Signed calls left for the wallet; null without a limit. */
  readonly walletCallsLeft: () => number | null
}

export interface WriteContext extends ReadContext {
  /** The body before validation; signatures cover this form. */
  readonly json: JsonObject
  readonly rawSha256: string
  readonly request: WriteRequest
  readonly fingerprint: ClientFingerprint
}

/** A write of a partner: the credentials are verified after the body. */
interface PartnerWriteContext extends WriteContext {
  readonly proof: BearerProof
  readonly action: string
}

interface AnswerOptions {
  readonly cache?: CachePolicy
  readonly headers?: Readonly<Record<string, string>>
}

/** `text` has the content type of the registry. */
export type TextAnswer =
  | { readonly text: string }
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly contentType: string }

export type ReadAnswer = AnswerOptions & ({ readonly body: object } | TextAnswer)

type ReadAnswerOf<R extends RouteFacts> = AnswerOptions &
  (AnswerOfRoute<R> extends string ? TextAnswer : { readonly body: DeepReadonly<AnswerOfRoute<R>> })

type WriteAnswerOf<R extends RouteFacts> = Outcome<AnswerOfRoute<R> & object> & AnswerOptions

type ReadHandler<R extends RouteFacts> = (
  input: RouteInput<R>,
  context: ReadContext,
) => Promise<ReadAnswerOf<R>>

type WriteHandler<R extends RouteFacts> = (
  input: RouteInput<R>,
  context: R extends { readonly access: 'partner' } ? PartnerWriteContext : WriteContext,
) => Promise<WriteAnswerOf<R>>

export type Handler<R extends RouteFacts> = R extends { readonly method: 'GET' }
  ? ReadHandler<R>
  : WriteHandler<R>

export type Handlers = { readonly [Id in HandlerRouteId]: Handler<RouteById<Id>> }
