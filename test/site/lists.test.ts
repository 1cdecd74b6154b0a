import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readAssets } from '../../builder/publish/assets.ts'
import { gatherCommunity } from '../../builder/world/community.ts'
import { gatherExchange } from '../../builder/world/lists.ts'
import { issuerOf } from '../../src/auth/exchange-keys.ts'
import { chains } from '../../src/chain/chains.ts'
import { receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { putWorker } from '../../src/db/workers.ts'
import { openExchange } from '../support/exchange.ts'
import { publishLog } from '../support/publish-log.ts'
import {
  issued,
  platformActions,
  receiptFacts,
  submission,
  workerSigned,
} from '../support/receipts.ts'
import { seller, sellerSigned } from '../support/seller.ts'
import { documentsOf, siteOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import { seriousViolations, useBrowser } from './browser.ts'
import { fullWorld } from './worlds.ts'

const platformKey = ed25519Key('platform')
const veteran = evmWallet('veteran')
const newcomer = evmWallet('newcomer')
const accepted = z.object({ receipt_id: z.string() })
const service = useService({
  documents: [],
  per: 'file',
  options: async () => ({ actions: await platformActions(platformKey) }),
})
const visit = useBrowser(() => service.url)
let oldest: string
let platformReceipt: string
let jobId: string

async function send(wallet: TestWallet, receipt: object): Promise<string> {
  const body = await submission(wallet, receipt, service.clock.now())
  return accepted.parse((await service.postJson('/api/v1/receipts', body)).body).receipt_id
}

/** Stores 60 receipts and 60 workers: lists show 50, and the first worker has no built page. */
beforeAll(async () => {
  const { database, keys } = service.actions
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
        agent: null,
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
        receiptsBy: issuerOf(keys.exchange()),
      })),
      // As if many newer jobs had followed.
      jobs: [],
    },
  })
  const assets = await readAssets(new URL('../../builder/site/static', import.meta.url).pathname)
  await service.published.publish([...documentsOf(world), ...siteOf(world), ...assets])
  await service.store.reload()
})

/** Presses the button that checks a receipt. Returns the text of the expected result. */
async function checkReceipt(page: Page, expected: 'good' | 'bad'): Promise<string> {
  await page.getByRole('button', { name: 'Check in this browser' }).click()
  return await page.locator(`.result[data-result=${expected}]`).innerText()
}

describe('the list of receipts', () => {
  test('the list of receipts appends older receipts up to the oldest', async () => {
    const { page, problems } = await visit('/receipts')
    const rows = page.locator('#receipts tbody tr')
    expect(await rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Show older receipts' }).click()
    await page.getByText('60 of 60 shown.').waitFor()
    expect(await rows.count()).toBe(60)
    expect(await rows.last().locator('th a').getAttribute('href')).toBe(`/receipts/${oldest}`)
    expect(await page.getByRole('button', { name: 'Show older receipts' }).isVisible()).toBe(false)
    const sortByAmount = page.getByRole('columnheader', { name: 'Amount' }).getByRole('button')
    await sortByAmount.click()
    await sortByAmount.click()
    expect(await rows.first().locator('th').innerText()).toBe('60 USDC')
    expect(problems).toEqual([])
  })

  test('the list of receipts links without JavaScript to a page of older receipts', async () => {
    const { page } = await visit('/receipts', { javaScriptEnabled: false })
    await page.getByRole('link', { name: 'Show older receipts' }).click()
    expect(await page.locator('#receipts tbody tr').count()).toBe(10)
    expect(await page.locator('main').innerText()).toContain('Newest first, 10 of 60.')
  })

  test('receipts are searched by the wallet of a worker, also old ones, with and without JavaScript', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { page, problems } = await visit('/receipts', {
        javaScriptEnabled,
      })
      await page.getByRole('searchbox').fill(veteran.address)
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByText('2 found').waitFor()
      expect(await page.locator('#receipts tbody tr').count()).toBe(2)
      await page.getByRole('searchbox').fill('nonsense')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByText('Nothing found. Enter a receipt id or wallet of the worker.').waitFor()
      expect(problems).toEqual([])
    }
  })

  test('the list of receipts can be linked to with a search', async () => {
    const { page } = await visit(`/receipts?q=${veteran.address}`)
    await page.getByText('2 found').waitFor()
  })

  test('a search finds a receipt by its id, and its page checks the signature', async () => {
    const { page, problems } = await visit('/receipts')
    await page.getByRole('searchbox').fill(oldest)
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL(`**/receipts/${oldest}`)
    await page.getByRole('heading', { name: 'Signed by the worker' }).waitFor()
    expect(await page.locator('main').innerText()).toContain('<b>Work</b> 0')
    expect(await page.title()).toContain(' USDC on ')
    const result = await checkReceipt(page, 'good')
    expect(result).toContain('Id and signature are good. The receipt is not in the log yet.')
    expect(result).toContain(oldest.slice(4))
    expect(problems).toEqual([])
  })

  test.each([
    [
      'amount',
      /"amount_usdc":1,/g,
      () => '"amount_usdc":2,',
      'The content does not match this id.',
    ],
    [
      'signature',
      /(?<="worker_signature":"(?:ed25519:)?)(?!ed25519:)[A-Z0-9+/]/i,
      (first: string) => (first === 'A' ? 'B' : 'A'),
      '',
    ],
  ])(
    'the page of a receipt reports a change of its %s in transit',
    async (_, pattern, change, says) => {
      const { page } = await visit()
      await page.route(`**/api/v1/receipts/${oldest}`, async (route) => {
        const answer = await route.fetch()
        const text = await answer.text()
        const changed = text.replace(pattern, change)
        expect(changed).not.toBe(text)
        await route.fulfill({ response: answer, body: changed })
      })
      await page.goto(`/receipts/${oldest}`)
      expect(await checkReceipt(page, 'bad')).toContain(`NOT GOOD. ${says}`)
    },
  )

  test('the page of a receipt explains who can check the signature of a platform', async () => {
    const { page } = await visit(`/receipts/${platformReceipt}`)
    expect(await checkReceipt(page, 'good')).toContain(
      'checked by the ledger with the platform’s key',
    )
  })

  test('the page of a receipt checks the id of nested content, in whatever order it is sent', async () => {
    const { page, problems } = await visit()
    const network = 'eip155:8453'
    const shared = { version: 1, network, resourceUrl: 'https://shop.example.com/widget' }
    const transaction = `0x${'ab'.repeat(32)}`
    const issuedAt = Math.floor(service.clock.now() / 1000)
    const paid = { payer: veteran.address, issuedAt, transaction }
    const asset = chains.base.usdc.address
    const terms = { scheme: 'exact', asset, payTo: seller.address, amount: '250000' }
    const offer_receipt = {
      receipt: await sellerSigned('Receipt', { ...shared, ...paid }),
      offer: await sellerSigned('Offer', { ...shared, ...terms }),
    }
    const id = await send(seller, { rail: 'x402', offer_receipt })
    await page.route(`**/api/v1/receipts/${id}`, async (route) => {
      const response = await route.fetch()
      const detail = receiptDetail.parse(await response.json())
      const json = { ...detail, content: { offer_receipt, rail: 'x402' } }
      await route.fulfill({ response, json })
    })
    await page.goto(`/receipts/${id}`)
    expect(await checkReceipt(page, 'good')).toContain('The id matches the content.')
    expect(problems).toEqual([])
  })

  test('the page of a receipt follows its proof to the root of the log', async () => {
    await publishLog(service.actions, service.published.dir)
    const { page, problems } = await visit(`/receipts/${platformReceipt}`)
    const result = await checkReceipt(page, 'good')
    expect(result).toContain('The id matches the content. The log contains the receipt.')
    expect(result).toMatch(/Log: inclusion\n\d+ hashes/)
    expect(problems).toEqual([])
    await page.route(`**/api/v1/receipts/${platformReceipt}/proof`, async (route) => {
      const answer = await page.request.get(`/api/v1/receipts/${oldest}/proof`)
      await route.fulfill({ response: answer })
    })
    expect(await checkReceipt(page, 'bad')).toContain(
      'NOT GOOD. The proof does not show that the log contains the receipt.',
    )
  })
})

describe('pages rendered on request', () => {
  test('the page of a worker shows its skills and receipts', async () => {
    const { page, problems } = await visit(`/workers/${veteran.address}`)
    await page.getByText('Newest first, 2 of 2.').waitFor()
    await page.goto(`/workers/${nearWallet('worker 0').address}`)
    await page.getByRole('heading', { name: 'Worker 0' }).waitFor()
    expect(await page.locator('.glance').innerText()).toContain('data-labelling')
    expect(problems).toEqual([])
  })

  test('the page of a job shows its history', async () => {
    const { page, problems } = await visit('/jobs')
    await page.getByRole('searchbox').fill(jobId)
    await page.getByRole('searchbox').press('Enter')
    await page.waitForURL(`**/jobs/${jobId}`)
    await page.getByRole('heading', { name: 'History' }).waitFor()
    expect(await page.locator('main ol').innerText()).toContain('Delivered by the worker')
    expect(problems).toEqual([])
  })

  test('the page of a partner shows the history of its oaths', async () => {
    const { page, problems } = await visit('/partners/poster')
    await page.getByRole('heading', { name: 'Oaths and writes' }).waitFor()
    expect(await page.locator('#oath-history').innerText()).toContain('signupPartner')
    expect(await page.locator('#jobs tbody tr').count()).toBe(1)
    expect(problems).toEqual([])
  })

  test('a search by a skill lists all workers with it', async () => {
    const { page } = await visit('/workers?q=data-labelling')
    await page.getByText('1 found').waitFor()
    expect(await page.locator('#workers tbody').innerText()).toContain('Worker 0')
  })

  test('pages rendered on request fit a phone and have no serious axe violation in light or dark mode', async () => {
    const paths = [
      `/receipts/${oldest}`,
      `/workers/${veteran.address}`,
      `/jobs/${jobId}`,
      '/partners/poster',
      '/compare?rails=alpha,beta,gamma',
      '/compare',
    ]
    for (const colorScheme of ['light', 'dark'] as const) {
      const options = { colorScheme, bypassCSP: true, viewport: { width: 320, height: 740 } }
      const { page } = await visit(null, options)
      for (const path of paths) {
        await page.goto(path)
        await page.locator('main :is(.facts, .ask)').first().waitFor({ state: 'attached' })
        expect(await seriousViolations(page), path).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
      }
    }
  })

  test('rails are chosen and compared without JavaScript', async () => {
    const { page, problems } = await visit('/compare', { javaScriptEnabled: false })
    for (const name of ['Rail alpha', 'Rail gamma'])
      await page.getByLabel(name, { exact: true }).check()
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByRole('heading', { name: 'Rail alpha and Rail gamma, side by side' }).waitFor()
    expect(await page.locator('#compare tbody tr').count()).toBeGreaterThan(15)
    expect(problems).toEqual([])
  })

  test('the page of an unknown receipt is the 404 page', async () => {
    const { page } = await visit()
    const answer = await page.goto(`/receipts/rcp_${'0'.repeat(64)}`)
    expect(answer?.status()).toBe(404)
    await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
  })
})
