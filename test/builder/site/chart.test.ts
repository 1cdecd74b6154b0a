import sharp from 'sharp'
import { describe, expect, test } from 'vitest'

import { barChart, lineChart, sparkline } from '../../../builder/charts/chart.ts'
import type { Setting } from '../../../builder/charts/svg.ts'

const hostile = `</text><script>alert(1)</script>" onload='x' & \u0000\u0007\ud800 ]]>`
const base = { title: 'Volume, USDC', description: 'Numbers.', setting: 'standalone' as const }
const points = (...values: (number | null)[]) =>
  values.map((value, index) => ({ label: `day ${index}`, value }))
const line = (...values: (number | null)[]) => lineChart({ ...base, points: points(...values) })

/** Every element and attribute name, in order of first appearance; fails where the text is not well formed. */
function names(svg: string): string[] {
  const open: string[] = []
  const found = new Set<string>()
  const markup = /<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<>]*")*)(\/?)>/g
  expect(svg.replace(markup, '')).not.toMatch(/[<>]/)
  for (const [, closing, name = '', attributes = '', empty] of svg.matchAll(markup)) {
    if (closing === '/') expect(open.pop()).toBe(name)
    else if (empty !== '/') open.push(name)
    found.add(name)
    for (const [attribute] of attributes.matchAll(/[a-zA-Z-]+(?==")/g)) found.add(`@${attribute}`)
  }
  expect(open).toEqual([])
  return [...found].toSorted()
}

describe.each([
  [
    'lineChart',
    (text: string, setting: Setting) =>
      lineChart({
        setting,
        title: text,
        description: text,
        points: [
          { label: text, value: 1 },
          { label: text, value: 2 },
        ],
      }),
  ],
  [
    'barChart',
    (text: string, setting: Setting) =>
      barChart({
        setting,
        title: text,
        description: text,
        points: [
          { label: text, value: 1 },
          { label: text, value: null },
        ],
        valueText: () => text,
      }),
  ],
  [
    'sparkline',
    (text: string, setting: Setting) =>
      sparkline({ setting, title: text, description: text, values: [1, 2] }),
  ],
] as const)('%s', (_name, draw) => {
  test('escapes names', () => {
    for (const setting of ['page', 'standalone'] as const) {
      expect(names(draw(hostile, setting))).toEqual(names(draw('plain', setting)))
      expect(draw(hostile, setting)).not.toContain('\u0000')
      expect(draw(hostile, setting)).not.toContain('\u0007')
    }
  })

  test('is an image with a title and a description', () => {
    const svg = draw('A & B', 'page')
    expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="A &amp; B"/)
    expect(svg).toContain('<title>A &amp; B</title><desc>A &amp; B</desc>')
  })

  test('takes its colours from the page, or contains both colour schemes if standalone', () => {
    expect(draw('A', 'page')).toContain(
      '="var(--chart-line,#0b62c4)"'.replace('line', _name === 'barChart' ? 'mark' : 'line'),
    )
    expect(draw('A', 'page')).not.toContain('<style>')
    expect(draw('A', 'standalone')).toContain('<style>@media (prefers-color-scheme:dark){')
    expect(draw('A', 'standalone')).not.toContain('var(')
  })

  test('is rendered outside a browser', async () => {
    const { width, height, channels } = await sharp(Buffer.from(draw('A', 'standalone'))).metadata()
    expect([width, height, channels].every((size) => size > 0)).toBe(true)
  })
})

describe('a line chart', () => {
  test('has gaps for unknown values and dots for isolated ones', () => {
    const svg = line(1, 2, null, 3, null, 4, 5)
    expect(svg.match(/stroke-linejoin/g)).toHaveLength(2)
    expect(svg.match(/<circle/g)).toHaveLength(1)
  })

  test('has a scale from zero to a round number', () => {
    const svg = line(900, 1234)
    const ticks = [...svg.matchAll(/text-anchor="end"[^>]*>([^<]*)</g)].map(([, text]) => text)
    expect(ticks).toEqual(['0', '500', '1k', '1.5k'])
  })

  test.each([
    ['no values', []],
    ['one value', [5]],
    ['a constant', [5, 5, 5]],
    ['zeros', [0, 0]],
    ['nothing known', [null, null]],
    ['values that are no numbers', [Number.NaN, Number.POSITIVE_INFINITY, 1]],
    ['very small values', [1e-6, 2e-6]],
    ['very large values', [1e9, 9e9]],
    ['values below zero', [-5, 5]],
  ])('can be drawn with %s', (_case, values) => {
    const svg = line(...values)
    expect(svg).not.toMatch(/NaN|Infinity|undefined|null/)
    names(svg)
  })

  test('shows the word unknown if no value is known', () => {
    expect(line(null, null)).toContain('>unknown</text>')
  })

  test('labels as many days of a year as fit', () => {
    const svg = line(...Array.from({ length: 365 }, (_, day) => day))
    const labels = svg.match(/>day \d+</g) ?? []
    expect(labels.length).toBeGreaterThan(3)
    expect(labels.length).toBeLessThan(15)
    expect(svg.length).toBeLessThan(16_000)
  })
})

test('a bar chart labels unknown values and draws no bar for unknown or zero', () => {
  const svg = barChart({
    ...base,
    points: points(null, 0, 0.0001, 1000),
    valueText: (value) => `${value} USDC`,
  })
  expect(svg.match(/<rect [^>]*rx=/g)).toHaveLength(2)
  expect(svg).toContain('>unknown</text>')
  expect(svg).toContain('>0 USDC</text>')
})
