import { expect, test } from 'vitest'

import { railView } from '../../builder/documents/rail-view.ts'
import { embedSnippets, railBadge } from '../../src/pages/badge.ts'
import { citationOf } from '../../src/pages/cite.ts'
import { svgElements } from '../support/svg.ts'
import { railRecord, smallWorld, worldNowMs } from '../support/world.ts'

const world = smallWorld()
const viewOf = (name: string) => {
  const record = world.rails.find(({ authored }) => authored.rail === name)
  return railView(record ?? railRecord(name), world)
}
const [alpha, beta, gamma] = [viewOf('alpha'), viewOf('beta'), viewOf('gamma')]
const titleOf = (svg: string) => /<title>(.*)<\/title>/.exec(svg)?.[1]
const url = 'https://ledger.test'

test('the badge of a rail names the status and the day of its figures', () => {
  const ofAlpha = railBadge(alpha, worldNowMs)
  expect(titleOf(ofAlpha)).toBe('Rail alpha: paying · 2026-11-21 (Agent Income Ledger)')
  expect(ofAlpha).toContain('>paying · 2026-11-21</text>')
  expect(titleOf(railBadge(viewOf('delta'), worldNowMs))).toContain('paying · 2026-11-19')
  expect(titleOf(railBadge({ ...beta, judged: false }, worldNowMs))).toContain(': not judged (')
})

test('the badge of an audit that is too old says what the status was', () => {
  const old = { ...gamma, judged: true, figures_as_of: '2026-06-01T00:00:00.000Z' }
  expect(titleOf(railBadge(old, worldNowMs))).toContain(': was dormant · 2026-06-01 (')
})

test('a badge is well-formed, 20 pixels high and without script for any name', () => {
  const named = railRecord('omega', {
    authored: { display_name: '"><script>alert(1)</script> and a name that is much too long' },
  })
  const svg = railBadge(railView(named, world), worldNowMs)
  const names = new Set(svgElements(svg).map((element) => element.split(' ')[0]))
  expect(names).toEqual(new Set(['rect', 'svg', 'text', 'title']))
  expect(svg).toMatch(/ height="20" role="img" aria-label="[^"]+"/)
})

test('snippets link back, and escape names in HTML and Markdown', () => {
  const name = '<b>[x](javascript:1)"'
  const { badge, card } = embedSnippets({ path: '/rails/alpha', name, hasCard: true }, url)
  expect(badge).toEqual({
    html: `<a href="${url}/rails/alpha"><img src="${url}/badges/rails/alpha.svg" alt="&lt;b&gt;[x](javascript:1)&quot; in the Agent Income Ledger" height="20"></a>`,
    markdown: `[![\\<b\\>\\[x\\](javascript:1)" in the Agent Income Ledger](${url}/badges/rails/alpha.svg)](${url}/rails/alpha)`,
  })
  expect(card?.html).toContain(`src="${url}/share/rails/alpha.png"`)
  expect(embedSnippets({ path: '/workers/0x1', name, hasCard: false }, url).card).toBeNull()
})

test('a citation names value, unit, window, rule, evidence and document', () => {
  const evidence_uri = `/evidence/${'ab'.repeat(32)}.json`
  expect(citationOf({ ...alpha, evidence_uri }, 'tpv_30d_usdc', url)).toBe(
    `Agent Income Ledger (${url}/rails/alpha). Rail alpha, tpv_30d_usdc: ${alpha.tpv_30d_usdc} USDC, 30 days to 2026-11-21T06:15:00.000Z. ` +
      `Polled 2026-11-21T06:15:00.000Z, rule alpha v1. Evidence ${url}${evidence_uri}. ` +
      `Document ${url}/api/v1/rails/alpha, signed, in the sets of ${url}/snapshot.json.`,
  )
  expect(citationOf(beta, 'tpv_7d_usdc', url)).toContain(
    'tpv_7d_usdc: unknown, 7 days to 2026-11-21',
  )
})

test('the citation of an audited figure names who counted it and the days of the count', () => {
  const source = 'https://counted.example/report'
  const about = { counted_by: 'A counter', method: 'All logs.' }
  const counted = { value: 12, from: '2026-09-01', to: '2026-09-28', source, ...about }
  const audit = { ...gamma.audit, figures: { tpv_30d_usdc: counted } }
  expect(citationOf({ ...gamma, audit }, 'tpv_30d_usdc', url)).toContain(
    `tpv_30d_usdc: 0 USDC, 2026-09-01 to 2026-09-28. As of 2026-10-01T00:00:00.000Z, rule audit by hand. Counted by A counter: ${source}.`,
  )
})
