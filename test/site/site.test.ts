import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'

import { routes } from '../../src/contract/routes.ts'
import { seriousViolations, useBrowser } from './browser.ts'
import { useSite } from './site-server.ts'
import { fullWorld } from './worlds.ts'

const site = useSite((url) => fullWorld(url))
const visit = useBrowser(() => site.url)

describe('a page of the documentation', () => {
  test('a page of the documentation lists all pages, marks itself, and leads to the next page', async () => {
    const { page } = await visit('/docs/quickstart')
    const side = page.getByRole('navigation', { name: 'Documentation' })
    expect(await side.locator('[aria-current=page]').innerText()).toBe('Quickstart')
    const next = page.locator('a[rel=next]')
    const target = String(await next.getAttribute('href'))
    await next.click()
    await page.waitForURL(`**${target}`)
    expect(await side.locator('[aria-current=page]').getAttribute('href')).toBe(target)
  })

  test('an example in the documentation is copied by keyboard', async () => {
    const { page } = await visit('/docs/quickstart', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const copy = page.getByRole('button', { name: 'Copy' }).first()
    await copy.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('button', { name: 'Copied' }).count()).toBe(1)
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied.trim()).toBe((await page.locator('.docs pre').first().innerText()).trim())
  })
})

describe('the home page', () => {
  test('the home page transfers at most 60 KB including assets', async () => {
    const { transferred } = await visit('/', { waitUntil: 'networkidle' })
    const bytes = await transferred()
    expect(bytes).toBeGreaterThan(3000)
    expect(bytes).toBeLessThanOrEqual(60_000)
  })

  test('the home page has no layout shift', async () => {
    const { page } = await visit()
    await page.addInitScript(() => {
      Object.assign(globalThis, { shift: 0 })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          Object.assign(globalThis, {
            shift: Number(Reflect.get(globalThis, 'shift')) + Number(Reflect.get(entry, 'value')),
          })
        }
      }).observe({ type: 'layout-shift', buffered: true })
    })
    await page.goto('/', { waitUntil: 'networkidle' })
    expect(await page.evaluate('shift')).toBe(0)
  })

  test('the home page shows all rails and can be filtered without JavaScript', async () => {
    const { page } = await visit('/', { javaScriptEnabled: false })
    const rows = page.locator('#rails tbody tr')
    expect(await rows.count()).toBe(4)
    expect(await page.locator('body').innerText()).toContain('Carried over, 2 days old')
    await page.locator('#filter-status').selectOption('dormant')
    expect(await rows.filter({ visible: true }).allInnerTexts()).toEqual([
      expect.stringContaining('Rail gamma'),
    ])
  })

  test('the home page filters rails by status, chain and category, and keeps the selection in its address', async () => {
    const { page } = await visit('/')
    const visible = page.locator('#rails tbody tr').filter({ visible: true })
    await page.getByLabel('Status').selectOption('paying')
    expect(await visible.count()).toBe(2)
    expect(await page.locator('.filters output').innerText()).toBe('2 of 4 rails')
    await page.getByLabel('Status').selectOption('')
    await page.getByLabel('Chain').selectOption('off-chain')
    expect(await visible.count()).toBe(1)
    await page.getByLabel('Category').selectOption('earning')
    expect(await visible.count()).toBe(0)
    await page.goto('/?status=dormant')
    expect(await visible.count()).toBe(1)
  })

  test('the home page sorts by a header in both directions with unknown last, and sets aria-sort', async () => {
    const { page } = await visit('/')
    const names = () => page.locator('#rails tbody th a').allInnerTexts()
    const header = page.getByRole('columnheader', { name: 'Volume USDC' })
    await header.getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBe('descending')
    expect((await names()).at(-1)).toContain('HYPERLINK')
    await header.getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBe('ascending')
    expect((await names())[0]).toBe('Rail gamma')
    expect((await names()).at(-1)).toContain('HYPERLINK')
    await page.locator('#rails th', { hasText: 'Rail' }).first().getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBeNull()
    expect((await names()).at(-1)).toBe('Rail gamma')
  })
})

describe('the chart of a rail', () => {
  test('the chart of a rail has three ranges and hides raw volume without JavaScript', async () => {
    const { page } = await visit('/rails/alpha', { javaScriptEnabled: false })
    const shown = () =>
      page
        .locator('.chart')
        .filter({ visible: true })
        .evaluateAll((charts) => charts.map((chart) => chart.getAttribute('class')))
    expect(await shown()).toEqual(['chart c90'])
    await page.getByRole('radio', { name: '30 d' }).check()
    expect(await shown()).toEqual(['chart c30'])
    const raw = page.locator('.c30 .raw').first()
    expect(await raw.isVisible()).toBe(true)
    await page.getByRole('checkbox', { name: 'Show raw volume' }).uncheck()
    expect(await raw.isVisible()).toBe(false)
    await page.getByText('Data table').click()
    expect(await page.getByRole('rowheader', { name: '2026-11-20' }).count()).toBe(1)
  })

  test('the chart of a rail shows the values of a day by arrow keys and pointer without moving the page', async () => {
    const { page } = await visit('/rails/alpha', { waitUntil: 'networkidle' })
    const readout = page.locator('.readout')
    const days = page.getByRole('slider', { name: 'Day' })
    const height = async () => (await page.locator('figure.plot').boundingBox())?.height
    await days.focus()
    const before = await height()
    await expect.poll(() => days.getAttribute('aria-valuetext')).toContain('2026-11-20: ')
    await page.keyboard.press('ArrowLeft')
    expect(await readout.innerText()).toContain('2026-11-19: ')
    expect(await days.getAttribute('aria-valuetext')).toBe(await readout.innerText())
    await page.keyboard.press('Home')
    expect(await readout.innerText()).toMatch(/^2026-08-2\d: .*raw [\d,.]+$/)
    const pane = page.locator('.c90 .pane')
    const { width = 0 } = (await pane.boundingBox()) ?? {}
    await pane.hover({ position: { x: width - 1, y: 50 } })
    expect(await readout.innerText()).toContain('2026-11-20: ')
    expect(await height()).toBe(before)
  })
})

describe('the keyboard alone', () => {
  test.each(['/', '/rails/alpha', '/receipts', '/docs/reference'])(
    'the keyboard alone reaches every control on %s',
    async (path) => {
      const { page } = await visit(path, { waitUntil: 'networkidle' })
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
      const reached = await page.evaluate(
        () =>
          [
            ...document.querySelectorAll(
              'a[href], button:not(:disabled), select, input:not([type=radio]:not(:checked)), summary, [tabindex="0"]',
            ),
          ].filter((element) => element.checkVisibility()).length,
      )
      const seen = new Set<string>()
      const nameOf = () =>
        page.evaluate(() => {
          const element = document.activeElement
          if (element === null || element === document.body) return null
          const outline = getComputedStyle(element).outlineStyle
          const all = [...document.querySelectorAll('*')]
          return `${all.indexOf(element)} ${outline === 'none' ? 'UNSEEN' : ''}`
        })
      for (let step = 0; step <= reached + 1; step += 1) {
        const name = await nameOf()
        if (name === null) break
        seen.add(name)
        await page.keyboard.press('Tab')
      }
      expect(seen.size).toBeGreaterThanOrEqual(reached)
      expect([...seen].filter((name) => name.endsWith('UNSEEN'))).toEqual([])
    },
  )

  test('the keyboard alone sorts a table and checks a signature', async () => {
    const { page } = await visit('/rails/alpha')
    await page.getByRole('button', { name: 'Check the signature' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.result[data-result=good]').waitFor()
    await page.goto('/')
    await page.locator('#rails th button').nth(2).focus()
    await page.keyboard.press('Space')
    expect(await page.locator('#rails th[aria-sort]').count()).toBe(1)
  })
})

test('each volume opens its origin next to it', async () => {
  const { page, problems } = await visit('/rails/alpha')
  await page.getByRole('button', { name: 'Origin of this figure: filtered' }).click()
  const opened = page.locator('[popover]:popover-open')
  expect(await opened.innerText()).toContain('Payments that the rule alpha v1 keeps.')
  expect(await seriousViolations(page)).toEqual([])
  await opened.getByRole('link', { name: '1 source' }).click()
  await page.locator('#evidence').waitFor()
  expect(problems).toEqual([])
})

test('one key opens the search, which narrows by words and opens its only match or an id', async () => {
  const { page, problems } = await visit('/rails/alpha')
  await page.keyboard.press('/')
  await page.waitForURL('**/search')
  const shown = page.locator('main li:visible')
  const all = await shown.count()
  await page.keyboard.type('dormant Gamma')
  expect([all > 30, await shown.count()]).toEqual([true, 1])
  await page.keyboard.press('Enter')
  await page.waitForURL('**/rails/gamma')
  await page.goto('/search?q=alpha rail')
  expect(await page.locator('main h2:visible').first().innerText()).toBe('Rails')
  await page.goto('/search?q=glossary')
  expect(await page.locator('main li a:visible').first().innerText()).toBe('Glossary')
  const id = `rcp_${'ab'.repeat(32)}`
  await page.goto(`/search?q=${id}`)
  expect(await shown.count()).toBe(0)
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/receipts/${id}`)
  expect(problems).toEqual([])
})

/** Presses the button that checks the signature. Returns the text of the expected result. */
async function checkSignature(page: Page, expected: 'good' | 'bad'): Promise<string> {
  await page.getByRole('button', { name: 'Check the signature' }).click()
  return await page.locator(`.result[data-result=${expected}]`).innerText()
}

/** Changes responses with a document on their way to the page. */
async function changeInTransit(
  page: Page,
  path: string,
  change: (answer: { body: Buffer; headers: Record<string, string> }) => void,
): Promise<void> {
  await page.route(`**${path}`, async (route) => {
    const response = await route.fetch()
    const answer = { body: await response.body(), headers: response.headers() }
    change(answer)
    await route.fulfill({ response, ...answer })
  })
}

function flipBit(body: Buffer): void {
  body[body.length - 3] = (body[body.length - 3] ?? 0) ^ 1
}

const checked = [
  ['/rails/alpha', '/api/v1/rails/alpha'],
  ['/pacts/12', '/api/v1/pacts/12'],
  ['/pacts/14', '/api/v1/pacts/14'],
] as const

describe.each(checked)('the signature check on %s', (path, documentPath) => {
  test(`the signature check on ${path} shows hash, key and a good result for an unchanged document`, async () => {
    const { page, problems } = await visit(path)
    const result = await checkSignature(page, 'good')
    const entry = site.published.manifest.documents.find(
      (candidate) => candidate.path === documentPath,
    )
    expect(result).toContain(entry?.sha256)
    expect(result).toContain(entry?.kid)
    expect(problems).toEqual([])
  })

  test(`the signature check on ${path} reports a document with one bit changed in transit`, async () => {
    const { page } = await visit()
    await changeInTransit(page, documentPath, ({ body }) => flipBit(body))
    await page.goto(path)
    expect(await checkSignature(page, 'bad')).toContain(
      'NOT GOOD. The signature does not match these bytes.',
    )
  })
})

describe('the signature check', () => {
  const document = '/api/v1/rails/alpha'

  test.each([
    ['without a signature', 'x-signature', 'has no signature'],
    ['with an unknown key', 'x-signature-key', 'not among the published keys'],
  ])('the signature check rejects a document %s', async (_case, header, reason) => {
    const { page } = await visit()
    await page.route('**/snapshot.json', (route) => route.fulfill({ json: { documents: [] } }))
    await changeInTransit(page, document, ({ headers }) => {
      headers[header] = ''
    })
    await page.goto('/rails/alpha')
    expect(await checkSignature(page, 'bad')).toContain(reason)
  })

  test('the signature check uses the manifest if the response has no signature headers', async () => {
    const { page, problems } = await visit()
    let isChanged = false
    await changeInTransit(page, document, ({ body, headers }) => {
      if (isChanged) flipBit(body)
      delete headers['x-signature']
      delete headers['x-signature-key']
    })
    await page.goto('/rails/alpha')
    expect(await checkSignature(page, 'good')).toContain('Signature (manifest)')
    isChanged = true
    await checkSignature(page, 'bad')
    expect(problems).toEqual([])
  })

  test('the signature check compares shown figures with signed ones, and names one that differs', async () => {
    const { page } = await visit('/rails/alpha')
    expect(await checkSignature(page, 'good')).toMatch(/The \d+ figures .* match\./)
    await page.locator('[data-of=tpv_30d_usdc]').evaluate((figure) => {
      figure.textContent = '1,000.01'
    })
    expect(await checkSignature(page, 'bad')).toContain(
      'shows 1,000.01 for tpv_30d_usdc, but the signed document contains 1000',
    )
  })

  test('the signature check works in a browser without Ed25519', async () => {
    const { page, problems } = await visit()
    await page.addInitScript(() => {
      const { subtle } = globalThis.crypto
      const refuse = () => Promise.reject(new DOMException('unknown', 'NotSupportedError'))
      Object.defineProperty(subtle, 'importKey', { value: refuse })
    })
    await page.goto('/rails/alpha')
    await checkSignature(page, 'good')
    expect(problems).toEqual([])
  })
})

describe('the page to try the API', () => {
  test('the page sends a read to this site and shows status, headers, body and command', async () => {
    const { page, problems } = await visit('/docs/try#getRail', { waitUntil: 'networkidle' })
    await page.locator('#getRail input').fill('alpha')
    await page.getByRole('button', { name: 'Send' }).click()
    const answer = page.locator('.answer')
    await expect.poll(() => answer.getByRole('status').innerText()).toMatch(/^200 /)
    expect(await answer.locator('.out').innerText()).toContain('"rail": "alpha"')
    await answer.getByText('Headers', { exact: true }).click()
    expect(await answer.innerText()).toContain('x-signature: ed25519:')
    expect(await page.locator('#getRail pre').innerText()).toContain(
      `curl -sS '${site.url}/api/v1/rails/alpha'`,
    )
    expect(problems).toEqual([])
  })

  test('the page does not send writes, but says how to sign them', async () => {
    const { page } = await visit('/docs/try')
    await page.getByLabel('Endpoint').selectOption('submitReceipt')
    expect(await page.getByRole('button', { name: 'Send' }).isVisible()).toBe(false)
    expect(await page.locator('#submitReceipt').innerText()).toContain('how to sign')
  })

  test('without scripts, the page lists a command for every endpoint', async () => {
    const { page } = await visit('/docs/try', { javaScriptEnabled: false })
    expect(await page.locator('pre:visible').count()).toBe(routes.length)
    expect(await page.getByRole('button', { name: 'Send' }).isVisible()).toBe(false)
  })
})

describe('samples of code', () => {
  test('one choice of language holds for all samples, also on the next page', async () => {
    const { page } = await visit('/docs/reference/rails')
    await page.getByLabel('Python').first().check()
    expect(await page.locator('pre[data-language=sh]:visible').count()).toBe(0)
    await page.goto('/docs/reference/workers')
    expect(await page.locator('pre[data-language=py]:visible').count()).toBeGreaterThan(1)
    expect(await page.locator('pre[data-language=sh]:visible').count()).toBe(0)
  })
})
