import { describe, expect, test } from 'vitest'

import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import { readPages } from '../../../builder/rails/paged-list.ts'
import type { ListPage, PagedList } from '../../../builder/rails/paged-list.ts'

type Row = string

/** Reads these pages, one request each, and records the requested offsets. */
async function read(
  pages: readonly ListPage<Row>[],
): Promise<PagedList<Row> & { offsets: readonly number[] }> {
  const offsets: number[] = []
  const ctx: Pick<AdapterContext, 'http'> = {
    http: {
      json: (url) => {
        const answer = { url, readFrom: 'list.example', overridden: false }
        return Promise.resolve({
          ...answer,
          status: 200,
          body: null,
          text: 'null',
          sha256: 'ab',
          bytes: 0,
        })
      },
    },
  }
  const list = await readPages(ctx, {
    url: ({ offset, index, cursor }) => {
      offsets.push(offset)
      return `https://list.example/rows?page=${index}&cursor=${cursor}`
    },
    parse: (_answer, { index }) => pages[index] ?? { items: [] },
    keyOf: (row) => row,
    maxPages: 10,
  })
  return { ...list, offsets }
}

const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, at) => `r${from + at}`)

const endless = Array.from({ length: 20 }, (_, at) => ({ items: [`r${at}`], last: false }))

describe('readPages', () => {
  test('reads pages until the stated total is reached, even if each is short', async () => {
    const list = await read([
      { items: rows(0, 40), total: 71 },
      { items: rows(40, 71), total: 71 },
    ])
    expect(list).toMatchObject({ total: 71, repeated: 0, moved: null, offsets: [0, 40] })
    expect(list.items).toEqual(rows(0, 71))
    const counts = list.evidence.map((pointer) => pointer.kind === 'http' && pointer.items)
    expect(counts).toEqual([40, 31])
  })

  test('notes that a long list grew by a few rows', async () => {
    const list = await read([
      { items: rows(0, 500), total: 1000 },
      { items: rows(499, 1001), total: 1002 },
    ])
    expect(list.items).toHaveLength(1001)
    expect(list).toMatchObject({
      repeated: 1,
      moved: 'The list changed while it was read: 1,002 rows of 1,002 stated at the end.',
    })
  })

  test.each<readonly [string, readonly ListPage<Row>[], Partial<PagedList<Row>>]>([
    ['at an empty page', [{ items: ['a'] }, { items: [] }], { items: ['a'] }],
    [
      'at a page that is marked as the last',
      [
        { items: ['a'], last: false },
        { items: [], last: true },
      ],
      { items: ['a'] },
    ],
    [
      'with repeated rows counted once',
      [{ items: ['a', 'b', 'a'], total: 3 }],
      { items: ['a', 'b'], repeated: 1 },
    ],
  ])('readPages ends %s', async (_name, pages, expected) => {
    await expect(read(pages)).resolves.toMatchObject(expected)
  })

  test.each<readonly [string, readonly ListPage<Row>[], string]>([
    [
      'fewer rows than stated, then an empty page',
      [
        { items: rows(0, 50), total: 60 },
        { items: [], total: 60 },
      ],
      'list.example/rows: received 50 of 60 rows',
    ],
    [
      'fewer rows than stated on the last page',
      [{ items: rows(0, 50), total: 60, last: true }],
      'received 50 of 60',
    ],
    [
      'a total that changes a lot',
      [
        { items: rows(0, 500), total: 1000 },
        { items: rows(500, 900), total: 900 },
      ],
      'the total changed from 1,000 to 900 while the list was read',
    ],
    [
      'a source that ignores paging',
      [{ items: ['a', 'b'] }, { items: ['a', 'b'] }],
      'list.example/rows: page 2 repeats earlier rows, paging is ignored',
    ],
    ['a list without an end', endless, 'does not end after 10 pages'],
  ])('readPages refuses %s', async (_name, pages, message) => {
    await expect(read(pages)).rejects.toThrow(message)
  })
})
