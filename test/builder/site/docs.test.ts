import { expect, test } from 'vitest'

import { liveBlocks } from '../../../builder/site/docs/live-blocks.ts'
import { docsPages } from '../../../builder/site/docs/page.ts'
import { docsValues } from '../../../builder/site/docs/values.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import { routes } from '../../../src/contract/routes.ts'
import { fullWorld } from '../../site/worlds.ts'
import { siteOf, textAt } from '../../support/site.ts'

const world = fullWorld('https://ledger.test')
const sources = world.docs.map(({ path, description, body }) => ({
  path,
  text: `${description}\n${body}`,
}))

const documents = siteOf(world)

function namesIn(pattern: RegExp): string[] {
  const found = sources.flatMap(({ text }) => [...text.matchAll(pattern)])
  return [...new Set(found.map(([, name = '']) => name))].toSorted()
}

test('every block of the docs pages exists, and every block is used', () => {
  expect(namesIn(/<!-- block: ([a-z-]+) -->/g)).toEqual(Object.keys(liveBlocks).toSorted())
})

test('each error of the client has a remedy of its own, which the page of errors shows', () => {
  const own = Object.values(errorCodes).filter(({ status }) => status < 500)
  const remedies = own.map(({ remedy }) => remedy)
  expect(remedies.filter((text) => !/^[A-Z][^\n]{10,}\.$/.test(text))).toEqual([])
  expect(new Set(remedies).size).toBe(remedies.length)
  const page = textAt('/docs/errors.md', documents).replaceAll('\\', '')
  expect(remedies.filter((text) => !page.includes(text))).toEqual([])
})

test('the signing page lists the message of each signed write, among them the delivery', () => {
  const page = textAt('/docs/signing.md', documents)
  const tags = ['register', 'claim', 'receipt', 'dispute', 'deliver', 'attestation-endpoint']
  expect(tags.filter((tag) => !page.includes(`<service>-${tag}-v1:{`))).toEqual([])
})

test('each request of the guide to the job exchange is one of the API, with a valid body', () => {
  const text = sources.find(({ path }) => path === '/docs/hiring')?.text ?? ''
  const shown = [...text.matchAll(/^(GET|POST) (\/api\S+?)(?:\?\S+)?(?: (\{.*\}))?$/gm)]
  expect(shown.length).toBeGreaterThan(7)
  for (const [line, method, path, body = '{}'] of shown) {
    const route = routes.find((each) => each.method === method && each.path === path)
    expect(route, line).toBeDefined()
    expect(route?.body?.safeParse(JSON.parse(body)).error, line).toBeUndefined()
  }
})

test('every value of the docs pages exists, and every value is used', () => {
  expect(namesIn(/\{\{(\w+)\}\}/g)).toEqual(Object.keys(docsValues(world)).toSorted())
})

test('the docs pages contain no unfilled markers in either form', () => {
  for (const path of sources.map((source) => source.path)) {
    for (const form of [path, `${path}.md`]) {
      expect(textAt(form, documents), form).not.toMatch(
        /<!--|&lt;!--|\{\{|\{#|\[object|undefined|NaN/,
      )
    }
  }
})

test('samples save an answer that is not text as a file', () => {
  const page = textAt('/docs/reference/service.md', documents)
  expect(page).toContain('/export/ledger.sqlite \\\n  -o ledger.sqlite\n')
  expect(page).toContain("await writeFile('ledger.sqlite', Buffer.from(")
  expect(page).toContain('open("ledger.sqlite", "wb").write(response.read())')
})

test('a page with an unknown block or value is rejected with its name', () => {
  const [first] = world.docs
  if (first === undefined) throw new Error('there are no docs pages')
  const pagesWith = (body: string) => () => docsPages()({ ...world, docs: [{ ...first, body }] })
  expect(pagesWith('<!-- block: nothing -->')).toThrow('/docs uses the unknown block nothing')
  expect(pagesWith('{{nothing}}')).toThrow('/docs uses the unknown value nothing')
})

test('adjacent code blocks in several languages become tabs, and stay code blocks in Markdown', () => {
  const page = textAt('/docs/quickstart', documents)
  expect(page.match(/<fieldset class="seg">/g)).toHaveLength(4)
  expect(page.match(/<pre tabindex="0" data-language="py">/g)).toHaveLength(4)
  expect(textAt('/docs/quickstart.md', documents).match(/^```(?:sh|ts|py)$/gm)).toHaveLength(12)
})

test('the samples of each endpoint are in three languages, with the example of the contract', () => {
  const page = textAt('/docs/reference/jobs.md', documents)
  const jobs = page.slice(
    page.indexOf('## POST `/api/v1/jobs`'),
    page.indexOf('GET `/api/v1/jobs/{id}/bids'),
  )
  expect(jobs.match(/^```\w+$/gm)).toEqual(['```sh', '```ts', '```py', '```json', '```json'])
  expect(jobs).toContain('--data-binary @body.json')
  expect(jobs).toContain('201, from a demonstration ledger')
  const [cancel = ''] = page.split('## POST `/api/v1/jobs/{id}/cancel`').slice(1)
  expect(cancel).toContain('Body: none, or `{}`.')
  expect(cancel).not.toContain('body.json')
  const [claim = ''] = textAt('/docs/reference/workers.md', documents)
    .split('## POST `/api/v1/claim`')
    .slice(1)
  expect(claim).toContain('201, from a demonstration ledger')
})

test('the reference shows the first rows of documents of this ledger, and says which answers are recorded', () => {
  const page = textAt('/docs/reference/rails.md', documents)
  const endpoint = (path: string) =>
    page.slice(page.indexOf(`## GET \`${path}\`\n`)).split('\n## ')[0] ?? ''
  const rail = endpoint('/api/v1/rails/{name}')
  expect(rail).toContain('curl -sS https://ledger.test/api/v1/rails/alpha\n')
  expect(rail).toContain('200, from /api/v1/rails/alpha of this ledger; lists and long texts')
  expect(rail).toContain('"rail": "alpha"')
  const list = endpoint('/api/v1/rails')
  expect(list).toContain('from /api/v1/rails of this ledger')
  expect(list.match(/"rail": /g)).toHaveLength(1)
  const income = endpoint('/api/v1/arbitrage')
  expect(income).toContain('200, from a demonstration ledger with invented data; lists')
})
