import type { IncomingMessage } from 'node:http'

import { apiPrefix, mcpPath } from '../contract/route.ts'
import { notFoundPage, troublePage } from '../core/site-pages.ts'
import type { DocumentStore } from './document-store.ts'
import type { ErrorAnswer } from './errors.ts'
import { policyHeaders } from './headers.ts'
import { prefersHtml } from './negotiate.ts'

/** Replaces an error response with a page if the request comes from a browser. */
export type ErrorRenderer = (req: IncomingMessage, answer: ErrorAnswer) => ErrorAnswer

const jsonPaths = [apiPrefix, mcpPath, '/.well-known/', '/healthz', '/readyz']
const htmlType = 'text/html; charset=utf-8'

export function createErrorPages(store: Pick<DocumentStore, 'get'>): ErrorRenderer {
  return (req, answer) => {
    const { url = '', method } = req
    const isPage = answer.status === 404 || answer.status >= 500
    if (!isPage || (method !== 'GET' && method !== 'HEAD')) return answer
    if (jsonPaths.some((path) => url.startsWith(path))) return answer
    if (!prefersHtml(req.headers.accept)) return answer
    const page = store.get(answer.status === 404 ? notFoundPage : troublePage)
    const body = page?.variants.identity.body.toString('utf8') ?? fallbackPage(answer.status)
    const headers = {
      ...answer.headers,
      'Content-Type': htmlType,
      'Content-Length': String(Buffer.byteLength(body)),
      ...policyHeaders(htmlType),
      Vary: 'Accept',
    }
    return { status: answer.status, body, headers }
  }
}

/** Returns the error page for a service without a published set. */
function fallbackPage(status: number): string {
  const [title, text] =
    status === 404
      ? ['Page not found', 'There is nothing at this address.']
      : [
          'Temporarily unavailable',
          'The ledger cannot respond right now. Please try again in a minute.',
        ]
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title} · Agent Income Ledger</title><h1>${title}</h1><p>${text}</p></html>\n`
}
