/** What the listener knows of a request before Hono gets it; handlers find it as `c.env`. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Context } from 'hono'

import type { Log } from '../core/deps.ts'
import type { SignedCall } from './signed-call.ts'

export interface RequestContext {
  readonly requestId: string
  readonly startedMs: number
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Lines of it carry the request's id. */
  readonly log: Log
  /** `RateLimit` headers, asked for when the answer is made. */
  readonly limitHeaders: () => Readonly<Record<string, string>>
  /** The limits of a call that is to prove its wallet; null for all others, and where limits are off. */
  readonly signedCall: SignedCall | null
  /** Bytes of the body that was answered; for the log. */
  bytes: number
}

export interface HonoEnv {
  Bindings: RequestContext
}

export type ApiContext = Context<HonoEnv>
