/**
 * Documents, answered on Node's own request and response before Hono sees them. This is the one file
 * written for speed: nearly every request of the service ends here, and a framework in between costs
 * half as much again. So it chooses among headers that were laid out when the set was loaded, reads
 * the request headers in one pass, and makes no object of its own on the way to a 200 or a 304.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Failure } from '../contract/errors.ts'
import { isLimited } from './admission.ts'
import type { Admission } from './admission.ts'
import { isNotModified } from './conditional.ts'
import type { DocumentStore } from './document-store.ts'
import type { StoredDocument, Variant } from './documents.ts'
import { headerFailure } from './gate.ts'
import { acceptedCodings } from './negotiate.ts'
import { seeHeaders } from './request-headers.ts'
import type { RequestLog } from './request-log.ts'

export interface OriginDeps {
  readonly store: Pick<DocumentStore, 'get'>
  readonly admission: Admission
  readonly requestLog: RequestLog
  readonly requestId: () => string
  readonly monotonic: () => number
  /** A read of an article: 200 and 304 alike, since both put it before a reader. HEAD does not count. */
  readonly countView: (slug: string) => void
  /** Document paths with query parameters that make them dynamic, such as `since`. */
  readonly dynamicQueries: ReadonlyMap<string, readonly string[]>
  readonly refuse: (req: IncomingMessage, res: ServerResponse, failure: Failure) => void
}

/** Answers a GET or HEAD of a published path. False: nothing was written, the request is someone else's. */
export type Origin = (req: IncomingMessage, res: ServerResponse) => boolean

export function createOrigin(deps: OriginDeps): Origin {
  const { store, admission, requestLog, requestId, monotonic, countView, dynamicQueries, refuse } =
    deps

  return (req, res) => {
    const { method, url = '' } = req
    if (method !== 'GET' && method !== 'HEAD') return false
    // A path of the set is in normal form by its schema, so finding it there is the check of the path.
    const mark = url.indexOf('?')
    const document = store.get(mark === -1 ? url : url.slice(0, mark))
    if (document === undefined) return false
    if (mark !== -1 && isDynamic(dynamicQueries.get(document.entry.path), url.slice(mark))) {
      return false
    }

    const startedMs = requestLog === null ? 0 : monotonic()
    const headers = seeHeaders(req.rawHeaders)
    const failure = headerFailure(headers)
    if (failure !== null) {
      refuse(req, res, failure)
      return true
    }
    if (admission !== null && isLimited(document.entry.path)) {
      const peer = req.socket.remoteAddress
      if (!admission.admit(peer, headers.forwardedFor)) {
        refuse(req, res, admission.refusal(peer, headers.forwardedFor))
        return true
      }
    }
    const variant = chooseVariant(document, headers.acceptEncoding)
    if (variant === null) {
      refuse(req, res, { code: 'not_acceptable' })
      return true
    }

    const notModified = isNotModified(headers.ifNoneMatch, headers.ifModifiedSince, variant)
    if (notModified) {
      res.writeHead(304, variant.notModifiedHeaders)
      res.end()
    } else {
      res.writeHead(200, variant.headers)
      if (method === 'GET') res.end(variant.body)
      else res.end()
    }
    if (document.articleSlug !== null && method === 'GET') countView(document.articleSlug)
    if (requestLog !== null) {
      requestLog({
        requestId: requestId(),
        method,
        target: url,
        status: notModified ? 304 : 200,
        startedMs,
        bytes: notModified || method === 'HEAD' ? 0 : variant.body.byteLength,
      })
    }
    return true
  }
}

function chooseVariant(
  document: StoredDocument,
  acceptEncoding: string | undefined,
): Variant | null {
  for (const coding of acceptedCodings(acceptEncoding)) {
    const variant = document.variants[coding]
    if (variant !== null) return variant
  }
  return null
}

/** `query` starts with its question mark. */
function isDynamic(names: readonly string[] | undefined, query: string): boolean {
  if (names === undefined) return false
  return names.some((name) => {
    for (let at = query.indexOf(name); at !== -1; at = query.indexOf(name, at + 1)) {
      const before = query[at - 1]
      const after = query[at + name.length]
      const isWhole = after === undefined || after === '=' || after === '&'
      if (isWhole && (before === '?' || before === '&')) return true
    }
    return false
  })
}
