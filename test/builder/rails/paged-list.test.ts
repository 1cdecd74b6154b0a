import { expect, test } from 'vitest'

import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import { readPages } from '../../../builder/rails/paged-list.ts'
import type { ListPage, PagedList } from '../../../builder/rails/paged-list.ts'

type Row = string

/** Reads what the pages say, one request per page; requested offsets are recorded. */
async function read(
  pages: readonly ListPage<Row>[],
  maxPages?: number,
): Promise<PagedList<Row> & { offsets: readonly number[] }> {
  const offsets: number[] = []
  const ctx: Pick<AdapterContext, 'http'> = {
    http: {
      json: (url) => Promise.resolve({ url, status: 200, body: null, sha256: 'ab', bytes: 0 }),
    },
  }
  const list = await readPages(ctx, {
    request: ({ offset, index, cursor }) => {
      offsets.push(offset)
      return { url: `https://list.example/rows?page=${index}&cursor=${cursor}` }
    },
    parse: (_answer, { index }) => pages[index] ?? { items: [] },
    keyOf: (row) => row,
    ...(maxPages === undefined ? {} : { maxPages }),
  })
  return { ...list, offsets }
}

const rows = (from: number, to: number): Row[] =>
  Array.from({ length: to - from }, (_, at) => `r${from + at}`)

test('pages are read until the stated total is reached, even if each is short', async () => {
  const list = await read([
    { items: rows(0, 40), total: 71 },
    { items: rows(40, 71), total: 71 },
  ])
  expect(list).toMatchObject({ total: 71, repeated: 0, moved: null, offsets: [0, 40] })
  expect(list.items).toEqual(rows(0, 71))
  expect(list.evidence.map((pointer) => pointer.kind === 'http' && pointer.items)).toEqual([40, 31])
})

test('a list without a total ends with an empty page or a page marked as last', async () => {
  await expect(read([{ items: ['a'] }, { items: ['b'] }, { items: [] }])).resolves.toMatchObject({
    items: ['a', 'b'],
    offsets: [0, 1, 2],
  })
  await expect(
    read([
      { items: ['a'], last: false },
      { items: [], last: true },
    ]),
  ).resolves.toMatchObject({
    items: ['a'],
  })
})

test('a list with fewer rows than stated is an error', async () => {
  await expect(
    read([
      { items: rows(0, 50), total: 60 },
      { items: [], total: 60 },
    ]),
  ).rejects.toThrow('list.example/rows: received 50 of 60 rows')
  await expect(read([{ items: rows(0, 50), total: 60, last: true }])).rejects.toThrow(
    'received 50 of 60',
  )
})

test('a large change of the total while the list is read is an error', async () => {
  await expect(
    read([
      { items: rows(0, 500), total: 1000 },
      { items: rows(500, 900), total: 900 },
    ]),
  ).rejects.toThrow('the total changed from 1,000 to 900 while the list was read')
})

test('a long list that grows by a few rows is accepted with a note', async () => {
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

test('repeated rows count once', async () => {
  await expect(read([{ items: ['a', 'b', 'a'], total: 3 }])).resolves.toMatchObject({
    items: ['a', 'b'],
    repeated: 1,
  })
})

test('a source that ignores paging is an error', async () => {
  await expect(read([{ items: ['a', 'b'] }, { items: ['a', 'b'] }])).rejects.toThrow(
    'list.example/rows: page 2 repeats earlier rows, paging is ignored',
  )
})

test('a list without an end is an error after the page limit', async () => {
  const endless = Array.from({ length: 20 }, (_, at) => ({ items: [`r${at}`], last: false }))
  await expect(read(endless, 10)).rejects.toThrow('does not end after 10 pages')
})
