import { expect, test } from 'vitest'

import { documentsOf } from '../../../builder/documents/index.ts'
import { renderBody } from '../../../builder/publish/document.ts'
import { liveBlocks } from '../../../builder/site/docs/live-blocks.ts'
import { docsPages } from '../../../builder/site/docs/page.ts'
import { docsValues } from '../../../builder/site/docs/values.ts'
import { routes } from '../../../src/contract/routes.ts'
import { createRouteTable } from '../../../src/http/route-table.ts'
import { fullWorld } from '../../site/worlds.ts'
import { siteOf } from '../../support/site.ts'

const world = fullWorld('https://ledger.test')
const sources = world.docs.map(({ path, description, body }) => ({
  path,
  text: `${description}\n${body}`,
}))

/** Distinct matches of the first group in all pages. */
function namesIn(pattern: RegExp): string[] {
  const found = sources.flatMap(({ text }) => [...text.matchAll(pattern)])
  return [...new Set(found.map(([, name = '']) => name))].toSorted()
}

test('every block of the docs pages exists, and every block is used', () => {
  expect(namesIn(/<!-- block: ([a-z-]+) -->/g)).toEqual(Object.keys(liveBlocks).toSorted())
})

test('every value of the docs pages exists, and every value is used', () => {
  expect(namesIn(/\{\{(\w+)\}\}/g)).toEqual(Object.keys(docsValues(world)).toSorted())
})

test('the docs pages contain no unfilled markers in either form', () => {
  for (const path of sources.map((source) => source.path)) {
    for (const form of [path, `${path}.md`]) {
      expect(documentText(form), form).not.toMatch(/<!--|&lt;!--|\{\{|\{#|\[object|undefined|NaN/)
    }
  }
})

test('a page with an unknown block or value is rejected with its name', () => {
  const [first] = world.docs
  if (first === undefined) throw new Error('there are no docs pages')
  const pagesWith = (body: string) => () => docsPages({ ...world, docs: [{ ...first, body }] })
  expect(pagesWith('<!-- block: nothing -->')).toThrow('/docs uses the unknown block nothing')
  expect(pagesWith('{{nothing}}')).toThrow('/docs uses the unknown value nothing')
})

test('every link of the docs pages leads to a document, a page or a route, and every anchor exists', () => {
  const published = new Set([...documents.keys(), '/snapshot.json', '/diffs/latest.md'])
  const isKnown = createRouteTable(routes)
  const broken = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((\/[^)#]*)?(?:#([\w-]+))?\)/g)]
      .map(([, target = path, anchor]) => ({ path, target, anchor }))
      .filter(({ target, anchor }) =>
        published.has(target)
          ? anchor !== undefined && !documentText(target).includes(` id="${anchor}"`)
          : isKnown(target) === undefined,
      ),
  )
  expect(broken).toEqual([])
})

const documents = new Map(
  [...siteOf(world), ...documentsOf(world)].map((document) => [document.path, document]),
)

function documentText(path: string): string {
  const document = documents.get(path)
  if (document === undefined) throw new Error(`no document ${path}`)
  return Buffer.from(renderBody(document, '')).toString('utf8')
}
