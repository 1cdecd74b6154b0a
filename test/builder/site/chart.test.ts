import { readFileSync } from 'node:fs'

import sharp from 'sharp'
import { describe, expect, test } from 'vitest'

import { lineChart } from '../../../builder/charts/chart.ts'
import { rangeChart, sparkline } from '../../../builder/charts/page-chart.ts'
import { palette } from '../../../src/pages/palette.ts'
import { svgElements } from '../../support/svg.ts'

const hostile = `</text><script>alert(1)</script>" onload='x' & \u0000\u0007\ud800 ]]>`
const base = { title: 'Volume, USDC', description: 'Numbers.' }
const points = (...values: (number | null)[]) =>
  values.map((value, index) => ({ label: `day ${index}`, value }))
const line = (...values: (number | null)[]) => lineChart({ ...base, points: points(...values) })

const kinds = (svg: string) => new Set(svgElements(svg))
const run = [0, 1, 2].map((day) => ({ day, value: day * 1000 }))
const range = (label: string) =>
  rangeChart({ from: 0, to: 9, kept: [run], raw: [run], gaps: [[2, 10]], every: 1, label }).svg

const charts: readonly (readonly [string, (text: string) => string])[] = [
  [
    'lineChart',
    (text) => {
      const point = { label: text, value: 1 }
      return lineChart({ title: text, description: text, points: [point, point] })
    },
  ],
  ['rangeChart', range],
  ['sparkline', (text) => sparkline([run], [0, 9], text)],
]

describe.each(charts)('%s', (name, draw) => {
  test(`${name} escapes names`, () => {
    expect(kinds(draw(hostile))).toEqual(kinds(draw('plain')))
    expect(draw(hostile)).not.toContain('\u0000')
    expect(draw(hostile)).not.toContain('\u0007')
  })

  test(`${name} is an image with a name, and has no inline style`, () => {
    expect(draw('A & B')).toMatch(/^<svg [^>]*role="img" aria-label="A &amp; B"/)
    expect(draw('A')).not.toContain('style="')
  })
})

test('the chart of an article contains both colour schemes and is rendered outside a browser', async () => {
  expect(line(1, 2)).toContain('<style>@media (prefers-color-scheme:dark){')
  expect(line(1, 2)).not.toContain('var(')
  const { width, height } = await sharp(Buffer.from(line(1, 2))).metadata()
  expect([width, height]).toEqual([720, 300])
})

test('the palette of drawings has the colours of the style sheet', () => {
  const css = readFileSync('builder/site/static/assets/site.css', 'utf8')
  for (const [name, [light, dark]] of Object.entries(palette)) {
    expect(css).toContain(`  --${name}: light-dark(${light}, ${dark});`)
  }
})

test('a chart of a page ends at its last reading, hatches the gap after it and names its ticks', () => {
  const { svg, ticks } = rangeChart({
    from: 0,
    to: 4,
    kept: [run],
    raw: [],
    gaps: [[2, 5]],
    every: 1,
    label: 'Volume',
  })
  expect(ticks).toEqual(['0', '500', '1k', '1.5k', '2k'])
  expect(svg).toContain('<path class="kept" d="m0 250 250 -125 250 -125"/>')
  expect(svg).toContain('<rect class="gap" x="50%" width="50%" height="100%" fill="url(#gap)"/>')
})

test('the chart of an article begins with the first known value, on a scale from zero to a round number', () => {
  const svg = line(null, 900, 1234)
  const ticks = [...svg.matchAll(/text-anchor="end"[^>]*>([^<]*)</g)].map(([, text]) => text)
  expect(ticks).toEqual(['0', '500', '1k', '1.5k'])
  const [, from = '', to = ''] =
    /d="M(\S+) [^L]*L(\S+) [^L]*" fill="none" stroke-width/.exec(svg) ?? []
  const labels = [...svg.matchAll(/<text x="(\S+)" [^>]*middle[^>]*>/g)].map(([, x]) => x)
  expect([from, to]).toEqual(labels.slice(1))
})
