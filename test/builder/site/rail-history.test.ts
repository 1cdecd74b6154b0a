import { describe, expect, test } from 'vitest'

import { volumeHistory } from '../../../builder/site/rail-history.ts'
import { volumeSpark } from '../../../builder/site/volume-series.ts'
import type { PollRecord } from '../../../builder/world/world.ts'
import { dayMs } from '../../../src/core/time.ts'
import { failedPoll, goodPoll, worldNowMs } from '../../support/world.ts'

const usdc = 1_000_000
const daysAgo = (days: number) => worldNowMs - days * dayMs
const good = (days: number, net: number | null = 1000) =>
  goodPoll(daysAgo(days), {
    tpv30dRawMicroUsdc: 3000 * usdc,
    tpv30dMicroUsdc: net === null ? null : 2000 * usdc,
    tpv30dNetMicroUsdc: net === null ? null : net * usdc,
  })
const every = (step: number, count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => good(from + at * step))

function drawn(polls: readonly PollRecord[]) {
  const { html, md } = volumeHistory('alpha', polls, worldNowMs)
  const page = html.toString()
  const charts = page.split('<div class="chart').slice(1)
  const parts = (kind: string) => charts.map((chart) => chart.split(`class="${kind}"`).length - 1)
  return { page, md, lines: parts('kept'), gaps: parts('gap'), dots: parts('dot') }
}

describe('the volume history of a rail', () => {
  test('the volume history of a rail that is polled once a week is an unbroken line', () => {
    const { md, lines, gaps } = drawn(every(7, 20))
    expect({ lines, gaps }).toEqual({ lines: [1, 1, 1], gaps: [0, 0, 0] })
    expect(md).toContain(
      '30-day volume in USDC, net of money that came back to its payers. Usually read every 7 days; the line joins readings up to 14 days apart.',
    )
  })

  test('the volume history hatches a longer gap, and says its days and the failure', () => {
    const failed = [5, 6, 7, 8].map((days) => failedPoll(daysAgo(days), 'HTTP 503 <b>'))
    const { page, md, lines, gaps } = drawn([...every(1, 5), ...failed, ...every(1, 31, 9)])
    expect({ lines, gaps }).toEqual({ lines: [2, 2], gaps: [1, 1] })
    expect(page).toContain('fill="url(#gap)"')
    expect(page).toContain('4 polls failed with “<bdi>HTTP 503 &lt;b&gt;</bdi>”.')
    expect(md).toContain('From 2026-11-13 to 2026-11-16: 4 polls failed with “HTTP 503 \\<b\\>”.')
    expect(md).toContain('| 2026-11-13 to 2026-11-16 | no reading |')
  })

  test('the volume history says that no poll was made, and that the figure of a poll was unknown', () => {
    expect(drawn(every(1, 9, 6)).md).toContain('From 2026-11-16 to 2026-11-21: no poll was made.')
    const { md, gaps } = drawn([...every(1, 3), good(3, null), ...every(1, 9, 4)])
    expect(gaps).toEqual([1])
    expect(md).toContain('On 2026-11-18: the polls of 1 day succeeded, but the volume was unknown.')
    expect(md).toContain('| 2026-11-18 | unknown | 3,000.00 |')
  })

  test('the volume history shows a single reading as a dot with its value', () => {
    const { page, dots, md } = drawn([good(2)])
    expect(dots).toEqual([1])
    expect(page).toMatch(/<circle class="dot"[^>]*\/><text [^>]*>1k<\/text>/)
    expect(md).toContain('There is one reading so far.')
  })

  test('the volume history names the filtered volume as such where net volume is unknown', () => {
    const filtered = every(1, 3).map((poll) => {
      const { figures } = poll
      return { ...poll, figures: figures && { ...figures, tpv30dNetMicroUsdc: null } }
    })
    expect(drawn(filtered).md).toContain('after the filter rule; net volume is unknown')
    expect(drawn(filtered).md).toContain('| Day | Filtered | Raw |')
    const { md } = drawn([...every(1, 2), ...filtered.slice(2)])
    expect(md).toContain('net where known, otherwise after the filter rule')
    expect(md).toContain('| 2026-11-21 | 1,000.00 net | 3,000.00 |')
    expect(md).toContain('| 2026-11-19 | 2,000.00 filtered | 3,000.00 |')
  })

  test('the volume history of several years is thinned, says so and stays small', () => {
    const { page, md } = drawn(every(1, 1000))
    expect(md).toContain('The range “All” shows every 9th reading.')
    expect(md).toContain('before 2026-08-24 of every 9th reading')
    expect(md.match(/^\| 20/gm)?.length).toBeLessThan(200)
    expect(page.length).toBeLessThan(25_000)
  })

  test('the volume history without a known volume says why', () => {
    expect(drawn([]).md).toBe('This rail has not been polled yet.')
    expect(drawn([failedPoll(daysAgo(1), 'timeout')]).md).toBe(
      'No volume has been read yet: 1 poll failed with “timeout”.',
    )
    const unread = { ...good(1, null) }
    const figures = unread.figures && { ...unread.figures, tpv30dRawMicroUsdc: null }
    expect(drawn([{ ...unread, figures }]).md).toContain('No poll has shown the volume')
  })
})

test('the sparkline of a rail that is polled every five days is one line', () => {
  const { html, md } = volumeSpark(every(5, 20, 1), worldNowMs)
  expect(html.toString().match(/class="kept"/g)).toHaveLength(1)
  expect(md).toBe('1k → 1k')
  expect(volumeSpark([good(3)], worldNowMs).html.toString()).toContain('<circle class="dot"')
  expect(volumeSpark([good(40)], worldNowMs).md).toBe('no readings')
})
