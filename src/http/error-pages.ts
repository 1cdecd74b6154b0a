import type { IncomingMessage } from 'node:http'

import { z } from 'zod'

import { apiPrefix, mcpPath } from '../contract/route.ts'
import { version } from '../contract/version.ts'
import { markPageAsDemo } from '../core/demo-mark.ts'
import { similar } from '../core/similar.ts'
import { notFoundPage, troublePage } from '../core/site-pages.ts'
import { contentOf } from '../pages/blocks.ts'
import { missingPage, refusedPage } from '../pages/error.ts'
import { layout } from '../pages/layout.ts'
import type { SitePage } from '../pages/page.ts'
import type { DocumentStore } from './document-store.ts'
import type { ErrorAnswer } from './errors.ts'
import { policyHeaders } from './headers.ts'
import { prefersHtml } from './negotiate.ts'

/** Replaces an error response with a page if the request comes from a browser. */
export type ErrorRenderer = (req: IncomingMessage, answer: ErrorAnswer) => ErrorAnswer

interface ErrorPageDeps {
  readonly store: Pick<DocumentStore, 'get'>
  readonly site: { readonly url: string; readonly isDemo: boolean }
  readonly rails: () => Iterable<string>
}

const jsonPaths = [mcpPath, '/.well-known/', '/healthz', '/readyz']
const htmlType = 'text/html; charset=utf-8'

const refusal = z.object({
  error: z.string(),
  code: z.string(),
  details: z.string().optional(),
  accepts: z.array(z.object({ maxAmountRequired: z.string(), payTo: z.string() })).optional(),
})

export function createErrorPages({ store, site, rails }: ErrorPageDeps): ErrorRenderer {
  const rendered = (page: SitePage): string => {
    const about = {
      site: { url: site.url, version },
      image: null,
      isPublished: false,
      hasMarkdown: false,
    }
    const text = layout(page, contentOf(page).html, about)
    return site.isDemo ? markPageAsDemo(text) : text
  }
  const published = (path: string) => store.get(path)?.variants.identity.body.toString('utf8')
  const pageOf = ({ status, body }: ErrorAnswer, path: string): string | null => {
    const isApi = path.startsWith(apiPrefix)
    if (status === 402 || status === 403) {
      const parsed = refusal.safeParse(JSON.parse(body))
      if (!parsed.success) return null
      const { accepts, ...about } = parsed.data
      const [terms] = accepts ?? []
      const offer = terms && {
        amountUsdc: Number(terms.maxAmountRequired) / 1e6,
        payTo: terms.payTo,
      }
      return rendered(
        refusedPage({ ...about, status, path, details: about.details, offer: offer ?? null }),
      )
    }
    if (isApi) return null
    if (status >= 500) return published(troublePage) ?? fallbackPage(status)
    if (status !== 404) return null
    const near = similar([...rails()], path.split('/').at(-1) ?? '')
    if (near.length > 0) return rendered(missingPage(path, near))
    return published(notFoundPage) ?? fallbackPage(status)
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
