import sharp from 'sharp'
import { describe, expect, test } from 'vitest'

import { lineChart, sparkline } from '../../../builder/charts/chart.ts'
import type { Setting } from '../../../builder/charts/svg.ts'
import { svgElements } from '../../support/svg.ts'

const hostile = `</text><script>alert(1)</script>" onload='x' & \u0000\u0007\ud800 ]]>`
const base = { title: 'Volume, USDC', description: 'Numbers.', setting: 'standalone' as const }
const points = (...values: (number | null)[]) =>
  values.map((value, index) => ({ label: `day ${index}`, value }))
const line = (...values: (number | null)[]) => lineChart({ ...base, points: points(...values) })

const kinds = (svg: string) => new Set(svgElements(svg))
const two = (label: string, ...values: readonly [number, number | null]) =>
  values.map((value) => ({ label, value }))

type Draw = (text: string, setting: Setting) => string
const charts: readonly (readonly [string, Draw])[] = [
  [
    'lineChart',
    (text, setting) =>
      lineChart({ setting, title: text, description: text, points: two(text, 1, 2) }),
  ],
  [
    'sparkline',
    (text, setting) =>
      sparkline({ setting, title: text, description: text, width: 120, height: 28 }, [1, 2]),
  ],
]

describe.each(charts)('%s', (name, draw) => {
  test(`${name} escapes names`, () => {
    for (const setting of ['page', 'standalone'] as const) {
      expect(kinds(draw(hostile, setting))).toEqual(kinds(draw('plain', setting)))
      expect(draw(hostile, setting)).not.toContain('\u0000')
      expect(draw(hostile, setting)).not.toContain('\u0007')
    }
  })

  test(`${name} is an image with a title and a description`, () => {
    const svg = draw('A & B', 'page')
    expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="A &amp; B"/)
    expect(svg).toContain('<title>A &amp; B</title><desc>A &amp; B</desc>')
  })

  test(`${name} takes its colours from the page, or contains both colour schemes if standalone`, () => {
    expect(draw('A', 'page')).toContain('="var(--chart-line,#0b62c4)"')
    expect(draw('A', 'page')).not.toContain('<style>')
    expect(draw('A', 'standalone')).toContain('<style>@media (prefers-color-scheme:dark){')
    expect(draw('A', 'standalone')).not.toContain('var(')
  })

  test(`${name} is rendered outside a browser`, async () => {
    const { width, height, channels } = await sharp(Buffer.from(draw('A', 'standalone'))).metadata()
    expect([width, height, channels].every((size) => size > 0)).toBe(true)
  })
})

describe('a line chart', () => {
  test('a line chart has gaps for unknown values and dots for isolated ones', () => {
    const svg = line(1, 2, null, 3, null, 4, 5)
    expect(svg.match(/stroke-linejoin/g)).toHaveLength(2)
    expect(svg.match(/<circle/g)).toHaveLength(1)
  })

  test('a line chart has a scale from zero to a round number', () => {
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
  ])('a line chart can be drawn with %s', (_case, values) => {
    const svg = line(...values)
    expect(svg).not.toMatch(/NaN|Infinity|undefined|null/)
    svgElements(svg)
  })

  test('a line chart shows the word unknown if no value is known', () => {
    expect(line(null, null)).toContain('>unknown</text>')
  })

  test('a line chart labels as many days of a year as fit', () => {
    const svg = line(...Array.from({ length: 365 }, (_, day) => day))
    const labels = svg.match(/>day \d+</g) ?? []
    expect(labels.length).toBeGreaterThan(3)
    expect(labels.length).toBeLessThan(15)
    expect(svg.length).toBeLessThan(16_000)
  })
})
