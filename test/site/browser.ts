/** Debian's Chromium, told to look nobody up, and what went wrong on a page. */
import { existsSync } from 'node:fs'

import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export async function openBrowser(): Promise<Browser> {
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

export interface WatchedPage {
  readonly page: Page
  /** Console errors, uncaught errors, dialogs, requests to other hosts, policy violations; in order. */
  readonly problems: readonly string[]
  /** Bytes that came over the wire: bodies as encoded, without headers. */
  readonly transferred: () => Promise<number>
  readonly close: () => Promise<void>
}

export async function watchedPage(
  browser: Browser,
  siteUrl: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
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
    if (!isOwn) problems.push(`${page.url()}: asks ${request.url()}`)
  })
  page.on('requestfinished', (request) => {
    const size = request.sizes().then(({ responseBodySize }) => responseBodySize)
    // A page may be closed before it is told: then nobody asks, and whoever asks is told so.
    size.catch(() => undefined)
    sizes.push(size)
  })
  return {
    page,
    problems,
    transferred: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
    close: () => context.close(),
  }
}
