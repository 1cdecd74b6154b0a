/** What handlers are given, and what a read answers. Types only. */
import type { IncomingMessage } from 'node:http'

import type { WriteRequest } from '../actions/idempotency.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { Log } from '../core/deps.ts'
import type { CachePolicy } from './answer.ts'
import type { PartnerProof } from './partner-auth.ts'

export interface AnyContext {
  /** Path parameters, each in the form its schema in the registry demands. */
  readonly params: Readonly<Record<string, string>>
  readonly incoming: IncomingMessage
  readonly log: Log
  /** The clock, read once. */
  readonly nowMs: number
  /** A keyed hash of the caller's address, made when it is asked for: for idempotency, not to be shown. */
  readonly remoteKey: () => string
  /** The address itself, behind our own proxies; for fingerprints that hash it at once. */
  readonly address: string
  readonly userAgent: string
  /**
   * Checks the partner bearer of this request, counts the call and says who signed it.
   * @throws ApiError 401, also where none was sent; 429 where the wallet calls too often.
   */
  readonly partner: () => Promise<PartnerProof>
  /** Signed calls that the wallet has left after this one; null where there is no limit. */
  readonly walletCallsLeft: () => number | null
}

export interface WriteContext<Body> extends AnyContext {
  /** As the schema of the route has it. */
  readonly body: Body
  /** As it was sent; this is what signatures in the body cover. */
  readonly json: JsonObject
  /** Lower-case hex of the bytes. */
  readonly rawSha256: string
  /** For `commitOnce`. */
  readonly request: WriteRequest
}

export interface ReadContext extends AnyContext {
  /** Query parameters by name, each in the form its schema in the registry demands. */
  readonly query: Readonly<Partial<Record<string, string>>>
}

interface AnyReadAnswer {
  /** By default what the registry says of the route. */
  readonly cache?: CachePolicy
  readonly headers?: Readonly<Record<string, string>>
}

/** JSON, text in the content type that the registry has for the route, or bytes of another that it names. */
export type ReadAnswer = AnyReadAnswer &
  (
    | { readonly body: object }
    | { readonly text: string }
    | { readonly bytes: Uint8Array<ArrayBuffer>; readonly contentType: string }
  )
