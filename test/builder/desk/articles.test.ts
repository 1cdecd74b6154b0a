import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'

import { loadArticles } from '../../../builder/world/articles.ts'
import { tempFolder } from '../../db/temp-database.ts'

let dir = ''
beforeEach(() => {
  dir = tempFolder()
})

const fields = {
  title: 'A title',
  date: '2026-11-02',
  excerpt: 'What it says.',
  keywords: '[one, "two, three"]',
}

function article(changes: Record<string, string | null> = {}, body = 'Text.\n'): string {
  const lines = Object.entries({ ...fields, ...changes })
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${value}`)
  return `---\n${lines.join('\n')}\n---\n\n${body}`
}

describe('loadArticles', () => {
  test('loadArticles reads every Markdown file by slug and ignores other files', async () => {
    await writeFile(join(dir, 'zebra.md'), article())
    await writeFile(join(dir, 'apple.md'), article({ title: '"One: two"' }, '## Head\n'))
    await writeFile(join(dir, 'notes.txt'), 'no article')
    const articles = await loadArticles(dir)
    expect(articles.map(({ slug }) => slug)).toEqual(['apple', 'zebra'])
    expect(articles[0]).toEqual({
      slug: 'apple',
      title: 'One: two',
      date: '2026-11-02',
      excerpt: 'What it says.',
      keywords: ['one', 'two, three'],
      body: '## Head\n',
      charts: [],
    })
  })

  test.each([
    ['an unknown day', 'a.md', article({ date: '2026-02-30' }), 'a.md: front matter.date: '],
    ['a missing title', 'a.md', article({ title: null }), 'a.md: front matter.title: '],
    ['keywords that are no list', 'a.md', article({ keywords: 'one' }), 'front matter.keywords: '],
    ['an unknown field', 'a.md', article({ mood: 'good' }), 'a.md: front matter: '],
    ['no text', 'a.md', article({}, '\n'), 'a.md: body: is empty'],
    ['no front matter', 'a.md', 'Text.\n', 'a.md: line 1: '],
    ['capitals in the name', 'Apple.md', article(), 'Apple.md: file name: '],
    [
      'a name of the builder',
      'ledger-week-2026-w01.md',
      article(),
      'ledger-week-2026-w01.md: file name: begins with "ledger-week-"',
    ],
  ])('refuses an article with %s and names file and field', async (_name, file, text, message) => {
    await writeFile(join(dir, file), text)
    await expect(loadArticles(dir)).rejects.toThrow(message)
  })
})
