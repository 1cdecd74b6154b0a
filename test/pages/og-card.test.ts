import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { railView } from '../../builder/documents/rail-view.ts'
import { statsOf } from '../../builder/documents/stats.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { ogCard } from '../../src/pages/og-card.ts'
import type { Card } from '../../src/pages/og-card.ts'
import { homeCard, railCard } from '../../src/pages/page-cards.ts'
import { graphemes, textWidth, wrap } from '../../src/pages/text-lines.ts'
import { svgElements } from '../support/svg.ts'
import { railRecord, smallWorld } from '../support/world.ts'
import { readVectors } from '../vectors/read.ts'

const naughty = readVectors('naughty-strings/blns.json', z.array(z.string()))
const markup = [
  '<script>alert(1)</script>',
  '"><image href="https://outside.example/x.png"/>',
  "' onload='alert(2)",
  '</text><foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="alert(3)"/></foreignObject>',
  '</title></svg><svg onload=alert(4)>',
  ']]><!ENTITY x SYSTEM "file:///etc/passwd">&x;&#0;&lt;',
  '<a xlink:href="javascript:alert(5)">x</a><style>*{fill:red}</style>',
  '<set attributeName="href" to="javascript:alert(6)"/>',
  '\u0000\u0001\u0008\u000b\u001f\ud800 \udfff \uffff\u202e',
]

function cardOf(name: string): Card {
  return {
    kicker: name,
    title: name,
    mark: { word: name, tone: 'care' },
    figures: [[name, name]],
    drawing: { kind: 'bars', caption: name, bars: [{ name, value: 1, text: name }] },
    note: name,
  }
}

describe('a preview image', () => {
  const template = svgElements(ogCard(cardOf('A name')))

  test('a preview image has only the elements and attributes of its template, whatever the names are', async () => {
    const same = new Set(template)
    for (const name of [...markup, ...naughty]) {
      const svg = ogCard(cardOf(name))
      const elements = svgElements(svg)
      expect(elements.filter((element) => !same.has(element))).toEqual([])
      // A long title has two lines: one element more.
      expect(elements.length - template.length, name).toBeLessThanOrEqual(1)
      expect(svg, name).not.toMatch(
        // oxlint-disable-next-line no-control-regex -- none may be there
        /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])/,
      )
    }
    // The renderer's own parser reads them as well.
    for (const name of [...markup, ...naughty.filter((_, at) => at % 20 === 0)]) {
      const { width, height } = await sharp(Buffer.from(ogCard(cardOf(name)))).metadata()
      expect([width, height], name).toEqual([1200, 630])
    }
  })

  test('a preview image shows markup as text', () => {
    expect(ogCard(cardOf('<b>&"\'</b>'))).toContain('&lt;b&gt;&amp;&quot;&#39;&lt;/b&gt;')
  })

  test('a preview image truncates a long name after 80 grapheme clusters', () => {
    const family = '👩‍👩‍👧‍👦'
    expect(graphemes(family.repeat(100), 80)).toHaveLength(80)
    const svg = ogCard({ ...cardOf('x'), title: 'w'.repeat(5000) })
    expect(svg.length).toBeLessThan(4000)
    expect(svg).toContain('…')
    // One base character under hundreds of marks would be one grapheme cluster.
    expect(graphemes(`Z${'\u0300'.repeat(500)}`, 80).join('')).toHaveLength(8)
  })

  test('a preview image shows the longest status with its whole date', () => {
    const word = 'pre-traction on 2026-10-26'
    expect(ogCard({ ...cardOf('x'), mark: { word, tone: 'care' } })).toContain(`>${word}</text>`)
  })

  test('a preview image draws gaps for unknown figures and shows the word unknown', () => {
    const rail: Rail = {
      ...railView(railRecord('alpha'), smallWorld()),
      tpv_30d_usdc: 0,
      unique_workers_30d: 3,
      top_worker_share: 0,
      entry_cost_usdc: 0,
      unknown_figures: ['tpv_30d_usdc', 'top_worker_share'],
    }
    const day = (at: number) => `2026-11-${String(at).padStart(2, '0')}T06:00:00.000Z`
    const polls = [21, 20, 19, 18].map((at) => ({
      outcome: 'ok' as const,
      polled_at: day(at),
      tpv_30d_usdc: at === 19 ? null : at,
    }))
    const card = railCard(rail, polls)
    expect(card.figures.map(([, value]) => value)).toEqual(['unknown', '3', 'unknown', '0'])
    expect(card.drawing).toMatchObject({ kind: 'line' })
    const runs = card.drawing?.kind === 'line' ? card.drawing.runs : []
    expect(runs.map((run) => run.map(({ value }) => value))).toEqual([[18], [20, 21]])
    expect(ogCard(card)).not.toMatch(/NaN|Infinity|undefined/)
  })
})

describe('a count on a preview image', () => {
  test.each([
    [0, '0'],
    [9_999, '9,999'],
    [10_000, '10k'],
    [12_399, '12.3k'],
    [100_999, '100k'],
    [999_999, '999k'],
    [1_234_567, '1.23M'],
    [98_765_432_100, '98.7G'],
    [7_000_000_000_000, '7T'],
  ])('a preview image shows the count %d as %s, truncated to three digits', (count, text) => {
    const stats = { ...statsOf(smallWorld()), receipts_verified: count }
    const { figures } = homeCard(stats, [])
    expect(new Map(figures).get('verified receipts')).toBe(text)
  })
})

describe('wrapped lines', () => {
  test('wrapped lines break between words, or within a word that is too long', () => {
    expect(wrap('one two three', 8, 3)).toEqual(['one two', 'three'])
    expect(wrap('abcdefghij', 4, 2)).toEqual(['abcd', 'efg…'])
    expect(wrap('one two three four', 8, 2)).toEqual(['one two', 'three f…'])
    expect(wrap('', 8, 2)).toEqual([])
  })

  test('line wrapping counts East Asian characters as two columns', () => {
    expect(textWidth(graphemes('市場 ab', 80))).toBe(7)
    expect(wrap('市場市場', 4, 2)).toEqual(['市場', '市場'])
  })
})
