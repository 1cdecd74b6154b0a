import type { IncomingMessage } from 'node:http'

import { apiPrefix, mcpPath } from '../contract/route.ts'
import { paymentChallenge } from '../contract/x402.ts'
import { troublePage } from '../core/site-pages.ts'
import { missingPage, refusedPage } from '../pages/error.ts'
import { unpublishedPage } from '../pages/layout.ts'
import type { DocumentStore } from './document-store.ts'
import type { ErrorAnswer } from './errors.ts'
import { policyHeaders } from './headers.ts'
import { prefersHtml } from './negotiate.ts'
import { similarPaths } from './similar-paths.ts'

/** Replaces an error response with a page if the request comes from a browser. */
export type ErrorRenderer = (req: IncomingMessage, answer: ErrorAnswer) => ErrorAnswer

interface ErrorPageDeps {
  readonly store: Pick<DocumentStore, 'get' | 'state'>
  readonly site: { readonly url: string; readonly isDemo: boolean }
}

const jsonPaths = [mcpPath, '/.well-known/', '/healthz', '/readyz']
const htmlType = 'text/html; charset=utf-8'

export function createErrorPages({ store, site }: ErrorPageDeps): ErrorRenderer {
  const published = (path: string) => store.get(path)?.variants.identity.body.toString('utf8')
  const pageOf = ({ status, body }: ErrorAnswer, path: string): string | null => {
    const isApi = path.startsWith(apiPrefix)
    if (status === 402 || status === 403) {
      const parsed = paymentChallenge.safeParse(JSON.parse(body))
      if (!parsed.success) return null
      const { accepts, ...about } = parsed.data
      const [terms] = accepts ?? []
      const offer = terms && {
        amountUsdc: Number(terms.maxAmountRequired) / 1e6,
        payTo: terms.payTo,
      }
      return unpublishedPage(
        refusedPage({ ...about, status, path, siteUrl: site.url, offer: offer ?? null }),
        site,
      )
    }
    if (isApi) return null
    if (status >= 500) return published(troublePage) ?? fallbackPage()
    if (status !== 404) return null
    return unpublishedPage(missingPage(path, similarPaths(store, path)), site)
  }
  return (req, answer) => {
    const { url = '', method } = req
    if (method !== 'GET' && method !== 'HEAD') return answer
    if (jsonPaths.some((path) => url.startsWith(path))) return answer
    if (!prefersHtml(req.headers.accept)) return answer
    const body = pageOf(answer, url.split('?')[0] ?? '')
    if (body === null) return answer
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

/** The error page of a service without a published set. */
function fallbackPage(): string {
  const title = 'Temporarily unavailable'
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title} · Agent Income Ledger</title><h1>${title}</h1><p>The ledger cannot respond right now. Please try again in a minute.</p></html>\n`
}
