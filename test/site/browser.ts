/** Debian's Chromium without background requests, and the problems of a page. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, onTestFinished } from 'vitest'
import { z } from 'zod'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

async function openBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) throw new Error(`there is no Chromium at ${executablePath}`)
  return await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

export interface Visit {
  readonly page: Page
  /** Console errors, uncaught errors, dialogs, requests to other hosts, policy violations; in order. */
  readonly problems: readonly string[]
  /** Bytes that came over the wire: bodies as encoded, without headers. */
  readonly transferred: () => Promise<number>
}

type VisitOptions = BrowserContextOptions &
  Pick<NonNullable<Parameters<Page['goto']>[1]>, 'waitUntil'>

/** Starts a browser for all tests of the file. Returns a function that opens a page of the site until the test ends. */
export function useBrowser(
  siteUrl: () => string,
): (path?: string | null, options?: VisitOptions) => Promise<Visit> {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
    return () => browser.close()
  })
  return async (path = null, { waitUntil = 'load', ...options } = {}) => {
    const context = await browser.newContext({ baseURL: siteUrl(), ...options })
    onTestFinished(() => context.close())
    const visit = watch(await context.newPage(), siteUrl())
    if (path !== null) await visit.page.goto(path, { waitUntil })
    return visit
  }
}

function watch(page: Page, siteUrl: string): Visit {
  const problems: string[] = []
  const sizes: Promise<number>[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      problems.push(`${page.url()}: ${message.text()}`)
    }
  })
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`))
  page.on('dialog', (dialog) => {
    problems.push(`${page.url()}: dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(`${siteUrl}/`) || request.url().startsWith('data:')
    if (!isOwn) problems.push(`${page.url()}: requests ${request.url()}`)
  })
  page.on('requestfinished', (request) => {
    const size = request.sizes().then(({ responseBodySize }) => responseBodySize)
    // A page that closes early rejects the promise, which no test may await by then.
    size.catch(() => undefined)
    sizes.push(size)
  })
  return {
    page,
    problems,
    transferred: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
  }
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const violations = z.array(
  z.object({
    id: z.string(),
    impact: z.string().nullable(),
    nodes: z.array(z.object({ html: z.string() })),
  }),
)

/** The accessibility violations that axe reports as serious or critical. */
export async function seriousViolations(page: Page): Promise<z.infer<typeof violations>> {
  await page.evaluate(axeSource)
  const found: unknown = await page.evaluate('axe.run().then(({ violations }) => violations)')
  return violations
    .parse(found)
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
}
