import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { documentsOf } from '../../builder/documents/index.ts'
import { readAssets } from '../../builder/publish/assets.ts'
import { gatherCommunity } from '../../builder/world/community.ts'
import { gatherExchange } from '../../builder/world/exchange.ts'
import { loadReference } from '../../src/actions/reference.ts'
import { issuerOf } from '../../src/auth/exchange-keys.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { putWorker } from '../../src/db/workers.ts'
import { openExchange } from '../support/exchange.ts'
import { publicDir, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import {
  issued,
  receiptFacts,
  submission,
  withPlatform,
  workerSigned,
} from '../support/receipts.ts'
import { siteOf } from '../support/site.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'
import { openBrowser, watchedPage } from './browser.ts'
import { fullWorld } from './worlds.ts'

const platformKey = ed25519Key('platform')
const veteran = evmWallet('veteran')
const newcomer = evmWallet('newcomer')
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const accepted = z.object({ receipt_id: z.string() })
let published: PublicDir
let service: Service
let browser: Browser
let oldest: string
let platformReceipt: string
let jobId: string

/** More of everything than the lists show: 60 receipts and 60 workers, the first of which no page is built for. */
beforeAll(async () => {
  published = await publicDir()
  const reference = withPlatform(await loadReference('data'), platformKey)
  service = await startService(published.dir, { actions: { reference: () => reference } })
  const { database, exchangeKeys } = service.actions
  const send = async (wallet: typeof veteran, receipt: object) => {
    const body = await submission(wallet, receipt, service.clock.now())
    const answer = await fetch(`${service.url}/api/v1/receipts`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return accepted.parse(await answer.json()).receipt_id
  }
  const facts = (at: number, wallet: typeof veteran) =>
    receiptFacts(wallet, { summary: `<b>Work</b> ${at}`, amount_usdc: at + 1 })
  const key = ed25519Key('receipts of the veteran')
  oldest = await send(veteran, workerSigned(facts(0, veteran), key))
  platformReceipt = await send(veteran, issued(facts(1, veteran), platformKey))
  for (let at = 2; at < 60; at += 1) {
    service.clock.advance(1000)
    await send(newcomer, issued(facts(at, newcomer), platformKey))
  }
  await database.write(async (tx) => {
    for (let at = 0; at < 60; at += 1) {
      await putWorker(tx, {
        wallet: parseWallet(nearWallet(`worker ${at}`).address),
        displayName: `Worker ${at}`,
        skills: [at === 0 ? 'data-labelling' : 'technical-writing'],
        url: null,
        bio: null,
        receiptKey: null,
        now: new Date(service.clock.now() + at).toISOString(),
      })
    }
  })
  jobId = (await (await openExchange(service)).delivered()).id
  const at = { siteUrl: 'https://ledger.test', nowMs: service.clock.now() }
  const world = fullWorld('https://ledger.test', {
    community: await gatherCommunity(database, at),
    exchange: {
      ...(await gatherExchange(database, {
        ...at,
        receiptsBy: issuerOf(exchangeKeys()),
      })),
      // As if so many had been posted since that no page is built for it.
      jobs: [],
    },
  })
  const assets = await readAssets(new URL('../../public', import.meta.url).pathname)
  await published.publish([...documentsOf(world), ...siteOf(world), ...assets])
  await service.store.reload()
  browser = await openBrowser()
})

afterAll(async () => {
  await browser.close()
  await service.stop()
  await published.remove()
})

describe('the list of receipts', () => {
  test('appends older receipts up to the oldest', async () => {
    const { page, problems, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/receipts`)
    const rows = page.locator('#receipts tbody tr')
    expect(await rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Show older receipts' }).click()
    await page.getByText('60 of 60 shown.').waitFor()
    expect(await rows.count()).toBe(60)
    expect(await rows.last().locator('th a').getAttribute('href')).toBe(`/receipts/${oldest}`)
    expect(await page.getByRole('button', { name: 'Show older receipts' }).isVisible()).toBe(false)
    await page.getByRole('columnheader', { name: 'Amount' }).getByRole('button').click()
    expect(await rows.first().locator('td.figure').innerText()).toBe('60.00')
    expect(problems).toEqual([])
    await close()
  })

  test('links without JavaScript to a page of older receipts', async () => {
    const { page, close } = await watchedPage(browser, service.url, { javaScriptEnabled: false })
    await page.goto(`${service.url}/receipts`)
    await page.getByRole('link', { name: 'Show older receipts' }).click()
    expect(await page.locator('#receipts tbody tr').count()).toBe(10)
    expect(await page.locator('main').innerText()).toContain('Newest first, 10 of 60.')
    await close()
  })

  test('is searched by the wallet of a worker, including old receipts, with and without JavaScript', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { page, problems, close } = await watchedPage(browser, service.url, {
        javaScriptEnabled,
      })
      await page.goto(`${service.url}/receipts`)
      await page.getByRole('searchbox').fill(veteran.address)
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByText('2 found').waitFor()
      expect(await page.locator('#receipts tbody tr').count()).toBe(2)
      await page.getByRole('searchbox').fill('nonsense')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByText('This list cannot be searched for that.').waitFor()
      expect(problems).toEqual([])
      await close()
    }
  })

  test('can be linked to with a search', async () => {
    const { page, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/receipts?q=${veteran.address}`)
    await page.getByText('2 found').waitFor()
    await close()
  })

  test('finds a receipt by its id and checks its signature', async () => {
    const { page, problems, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/receipts`)
    await page.getByRole('searchbox').fill(oldest)
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL(`**/receipts/${oldest}`)
    await page.getByText('signed by the worker', { exact: true }).waitFor()
    expect(await page.locator('main').innerText()).toContain('<b>Work</b> 0')
    expect(await page.title()).toContain(oldest.slice(0, 12))
    await page.getByRole('button', { name: 'Check id and signature' }).click()
    const result = page.locator('.result[data-result]')
    await result.waitFor()
    expect(await result.innerText()).toContain('Id and signature are good.')
    expect(await result.innerText()).toContain(oldest.slice(4))
    expect(problems).toEqual([])
    await close()
  })

  test.each([
    ['amount', '"amount_usdc":1,', '"amount_usdc":2,', 'The content does not match this id.'],
    ['signature', '"worker_signature":"', '"worker_signature":"ed25519:', ''],
  ])('reports a receipt whose %s was changed in transit', async (_, from, to, says) => {
    const { page, close } = await watchedPage(browser, service.url)
    await page.route(`**/api/v1/receipts/${oldest}`, async (route) => {
      const answer = await route.fetch()
      const text = await answer.text()
      const changed =
        says === ''
          ? text.replace(
              /("worker_signature":"(?:ed25519:)?)(.)/,
              (_all, head: string, first: string) => `${head}${first === 'A' ? 'B' : 'A'}`,
            )
          : text.replaceAll(from, to)
      expect(changed).not.toBe(text)
      await route.fulfill({ response: answer, body: changed })
    })
    await page.goto(`${service.url}/receipts/${oldest}`)
    await page.getByRole('button', { name: 'Check id and signature' }).click()
    const result = page.locator('.result[data-result=bad]')
    await result.waitFor()
    expect(await result.innerText()).toContain(`NOT GOOD. ${says}`)
    await close()
  })

  test('explains who can check the signature of a platform', async () => {
    const { page, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/receipts/${platformReceipt}`)
    await page.getByRole('button', { name: 'Check id and signature' }).click()
    const result = page.locator('.result[data-result=good]')
    await result.waitFor()
    expect(await result.innerText()).toContain('checked by the ledger with the platform’s key')
    await close()
  })
})

describe('pages rendered on request', () => {
  test('show a worker with receipts', async () => {
    const { page, problems, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/view/worker?id=${veteran.address}`)
    await page.getByText('Newest first, 2 of 2.').waitFor()
    await page.goto(`${service.url}/workers/${nearWallet('worker 0').address}`)
    await page.getByRole('heading', { name: 'Worker 0' }).waitFor()
    expect(await page.locator('.facts').innerText()).toContain('data-labelling')
    expect(problems).toEqual([])
    await close()
  })

  test('show a job with its history', async () => {
    const { page, problems, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/jobs`)
    await page.getByRole('searchbox').fill(jobId)
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL(`**/jobs/${jobId}`)
    await page.getByRole('heading', { name: 'History' }).waitFor()
    expect(await page.locator('main ol').innerText()).toContain('deliver by worker: delivered')
    expect(problems).toEqual([])
    await close()
  })

  test('show a partner with the history of oaths', async () => {
    const { page, problems, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/partners/poster`)
    await page.getByRole('link', { name: 'History as a page' }).click()
    await page.getByRole('heading', { name: 'Oaths and writes' }).waitFor()
    expect(await page.locator('table').innerText()).toContain('signupPartner')
    expect(problems).toEqual([])
    await close()
  })

  test('list all workers with a skill', async () => {
    const { page, close } = await watchedPage(browser, service.url)
    await page.goto(`${service.url}/workers?q=data-labelling`)
    await page.getByText('1 found').waitFor()
    expect(await page.locator('#workers tbody').innerText()).toContain('Worker 0')
    await close()
  })

  test('have no serious axe violation in light or dark mode, and fit a phone', async () => {
    const paths = [
      `/receipts/${oldest}`,
      `/view/worker?id=${veteran.address}`,
      `/jobs/${jobId}`,
      '/view/partner?id=poster',
    ]
    for (const colorScheme of ['light', 'dark'] as const) {
      const options = { colorScheme, bypassCSP: true, viewport: { width: 360, height: 740 } }
      const { page, close } = await watchedPage(browser, service.url, options)
      for (const path of paths) {
        await page.goto(`${service.url}${path}`)
        await page.locator('main .facts').first().waitFor()
        await page.evaluate(axeSource)
        const found: unknown = await page.evaluate('axe.run().then(({ violations }) => violations)')
        const serious = z
          .array(z.object({ id: z.string(), impact: z.string().nullable() }))
          .parse(found)
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        expect(serious, path).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
      }
      await close()
    }
  })

  test('show the 404 page for an unknown receipt', async () => {
    const { page, close } = await watchedPage(browser, service.url)
    const answer = await page.goto(`${service.url}/receipts/rcp_${'0'.repeat(64)}`)
    expect(answer?.status()).toBe(404)
    await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
    await close()
  })
})
