import { expect, test } from 'vitest'

import { liveBlocks } from '../../../builder/site/docs/live-blocks.ts'
import { docsPages } from '../../../builder/site/docs/page.ts'
import remedies from '../../../builder/site/docs/remedies.json' with { type: 'json' }
import { docsValues } from '../../../builder/site/docs/values.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
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

test('every remedy is that of an error code or of a status', () => {
  const known = Object.entries(errorCodes).flatMap(([code, { status }]) => [code, String(status)])
  expect(Object.keys(remedies).filter((name) => !known.includes(name))).toEqual([])
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
  expect(jobs).toContain('-d @body.json')
})
