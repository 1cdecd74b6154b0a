/** Every request that is not a read of a published document: judged in order of cost, then handed to Hono. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Failure } from '../contract/errors.ts'
import { apiPrefix, healthPath, mcpPath } from '../contract/route.ts'
import type { ConcurrencyLimit, ConcurrencyLimits } from '../limits/concurrency-limits.ts'
import { isLimited } from './admission.ts'
import type { Admission } from './admission.ts'
import type { RequestContext } from './context.ts'
import type { DocumentStore } from './document-store.ts'
import { headerFailure, isForeignMethod, targetFailure } from './gate.ts'
import { preflightHeaders } from './headers.ts'
import { isOnDemandPath } from './on-demand-pages.ts'
import { showsCredentials } from './partner-auth.ts'
import { showsPayment } from './payment-header.ts'
import { seeHeaders } from './request-headers.ts'
import type { KnownPath, RouteTable } from './route-table.ts'

export interface EntryDeps {
  readonly store: Pick<DocumentStore, 'get'>
  readonly admission: Admission
  readonly knownPath: RouteTable
  readonly concurrency: ConcurrencyLimits
  readonly begin: (req: IncomingMessage, res: ServerResponse) => RequestContext
  readonly refuse: (req: IncomingMessage, res: ServerResponse, failure: Failure) => void
  /** Hono, which answers whatever comes this far. */
  readonly dispatch: (context: RequestContext) => void
}

const documentMethods = ['GET', 'HEAD', 'OPTIONS'] as const
/** What an unknown path has methods for: nothing in particular. */
const anyMethods: readonly string[] = documentMethods

export function createEntry(deps: EntryDeps): (req: IncomingMessage, res: ServerResponse) => void {
  const { store, admission, knownPath, concurrency, begin, refuse, dispatch } = deps

  const methodsOf = (path: string, known: KnownPath | null): readonly string[] | null => {
    if (store.get(path) === undefined) return known?.methods ?? null
    return [...new Set([...documentMethods, ...(known?.methods ?? [])])]
  }

  return (req, res) => {
    const { method = '', url = '' } = req
    const headers = seeHeaders(req.rawHeaders)
    const isAboutServer = method === 'OPTIONS' && url === '*'
    const failure = headerFailure(headers) ?? (isAboutServer ? null : targetFailure(url))
    if (failure !== null) {
      refuse(req, res, failure)
      return
    }
    const mark = url.indexOf('?')
    const path = mark === -1 ? url : url.slice(0, mark)
    const known = knownPath(path)
    const methods = methodsOf(path, known)
    const allow = (methods ?? anyMethods).join(', ')
    if (isForeignMethod(method) || (methods !== null && !methods.includes(method))) {
      refuse(req, res, { code: 'method_not_allowed', headers: { Allow: allow } })
      return
    }
    if (method === 'OPTIONS') {
      res.writeHead(204, { ...preflightHeaders, Allow: allow, 'Cache-Control': 'no-store' })
      res.end()
      return
    }
    // Before anything is counted or read. Those that come in between are looked at again when they are whole.
    const limit = concurrencyLimitOf(path, req, known, concurrency)
    if (limit?.isFull() === true) {
      refuse(req, res, limit.refusal())
      return
    }
    if (admission === null || !(isLimited(path) || isOnDemandPath(path))) {
      dispatch(begin(req, res))
      return
    }
    const peer = req.socket.remoteAddress
    // Kept by value: the headers seen are gone when the next request is looked at.
    const { forwardedFor } = headers
    if (isSigned(known, req)) {
      const signedCall = admission.signed(peer, forwardedFor)
      if (signedCall.admitted) {
        dispatch({ ...begin(req, res), limitHeaders: signedCall.headers, signedCall })
      } else {
        refuse(req, res, signedCall.refusal())
      }
      return
    }
    if (!admission.admit(peer, forwardedFor)) {
      refuse(req, res, admission.refusal(peer, forwardedFor))
      return
    }
    const limitHeaders = (): Readonly<Record<string, string>> =>
      admission.headers(peer, forwardedFor)
    dispatch({ ...begin(req, res), limitHeaders })
  }
}

/** Where a request will need room; null where it needs none. A payment has its own only where there is something to pay. */
function concurrencyLimitOf(
  path: string,
  req: IncomingMessage,
  known: KnownPath | null,
  concurrency: ConcurrencyLimits,
): ConcurrencyLimit | null {
  const { method = '' } = req
  if (path === mcpPath) return concurrency.read
  if (!path.startsWith(apiPrefix) || path === healthPath) return null
  if (showsPayment(req) && known?.isSold(method) === true) return concurrency.payment
  return method === 'GET' || method === 'HEAD' ? concurrency.read : concurrency.write
}

/** A signature is to come: in the body, or in headers that stand there. */
function isSigned(known: KnownPath | null, req: IncomingMessage): boolean {
  const access = known?.accessOf(req.method ?? '') ?? 'public'
  return access === 'signed' || (access === 'partner' && showsCredentials(req))
}
