import { describe, expect, test } from 'vitest'

import { weeklyArticles } from '../../../builder/desk/weekly.ts'
import type { LedgerEvent, PollRecord } from '../../../builder/world/world.ts'
import { failedPoll, goodPoll, railRecord, smallWorld } from '../../support/world.ts'

/** Polls in any order; the world contains them newest first. */
function historyOf(polls: Record<string, readonly PollRecord[]>): Map<string, PollRecord[]> {
  return new Map(
    Object.entries(polls).map(([rail, list]) => [
      rail,
      list.toSorted((a, b) => b.polledAtMs - a.polledAtMs),
    ]),
  )
}

function articles(
  polls: Record<string, readonly PollRecord[]>,
  changes: Partial<Parameters<typeof weeklyArticles>[0]> = {},
) {
  return weeklyArticles({
    nowMs: at('2026-11-23T00:00:00Z'),
    rails: Object.keys(polls).map((rail) => railRecord(rail)),
    history: historyOf(polls),
    events: [],
    site: { ...smallWorld().site, url: 'https://ledger.test' },
    ...changes,
  })
}

function only([article, ...others]: ReturnType<typeof articles>) {
  expect(others).toEqual([])
  if (article === undefined) throw new Error('no article')
  return article
}

const at = (time: string) => Date.parse(time)
const usdc = (amount: number) => ({
  tpv30dMicroUsdc: amount * 1e6,
  tpv30dNetMicroUsdc: amount * 1e6,
})

const alphaPolls = (volumes: Readonly<Record<string, number>>) => ({
  alpha: Object.entries(volumes).map(([time, amount]) => goodPoll(at(time), usdc(amount))),
})

function event(time: string, kind: LedgerEvent['kind'], rail: string, data: object, title = 'T') {
  return { seq: at(time), kind, rail, title, data: { ...data }, createdAtMs: at(time) }
}

/** Week 47 of 2026 is 16 to 22 November; the polls on the 15th and the 23rd frame it. */
const busyWeek = {
  alpha: [
    goodPoll(at('2026-11-15T23:59:59.999Z'), { ...usdc(1000), uniqueWorkers30d: 4 }),
    goodPoll(at('2026-11-16T00:00:00Z'), { ...usdc(1200.5), uniqueWorkers30d: 4 }),
    failedPoll(at('2026-11-18T06:00:00Z'), 'GET https://a.example | <b>500</b>'),
    goodPoll(at('2026-11-22T23:59:59.999Z'), { ...usdc(1500.25), uniqueWorkers30d: 6 }),
    goodPoll(at('2026-11-23T00:00:00Z'), { ...usdc(9999), uniqueWorkers30d: 99 }),
  ],
  beta: [
    {
      ...goodPoll(at('2026-11-14T12:00:00Z'), {
        tpv30dMicroUsdc: null,
        tpv30dNetMicroUsdc: null,
        uniqueWorkers30d: null,
      }),
      status: 'pre-traction' as const,
    },
    goodPoll(at('2026-11-17T12:00:00Z'), { ...usdc(0.004), uniqueWorkers30d: 12_345 }),
  ],
  gamma: [
    goodPoll(at('2026-11-15T12:00:00Z'), usdc(7)),
    goodPoll(at('2026-11-20T12:00:00Z'), usdc(7)),
  ],
  epsilon: [failedPoll(at('2026-11-20T13:00:00Z'), 'timed out')],
  zeta: [goodPoll(at('2026-11-21T12:00:00Z'), { ...usdc(50), uniqueWorkers30d: 2 })],
}

const busyEvents: LedgerEvent[] = [
  event('2026-11-17T12:00:00Z', 'rail_transition', 'beta', { from: 'pre-traction', to: 'paying' }),
  event(
    '2026-11-18T06:00:00Z',
    'flag_opened',
    'alpha',
    { flag_kind: 'poll_failed' },
    'a failed poll',
  ),
  event('2026-11-18T12:00:00Z', 'flag_opened', 'alpha', { flag_kind: 'self_dealing' }, 'A *doubt*'),
  event('2026-11-19T12:00:00Z', 'flag_closed', 'gamma', { flag_kind: 'clock_skew' }, 'A clock'),
  event('2026-11-20T12:00:00Z', 'rail_transition', 'zeta', { from: 'paying', to: 'dormant' }),
  event('2026-11-15T23:00:00Z', 'flag_opened', 'alpha', { flag_kind: 'self_dealing' }, 'before'),
  event('2026-11-23T00:00:00Z', 'flag_opened', 'alpha', { flag_kind: 'self_dealing' }, 'after'),
]

const weeks = (list: ReturnType<typeof articles>) => list.map(({ slug }) => slug)

describe('the weekly article', () => {
  const list = articles(busyWeek, { events: busyEvents })
  const article = list.at(-1)
  const body = article?.body ?? ''

  test('lists changes as start and end of the week, with the largest change of volume first', () => {
    expect(body).toContain(
      [
        '| Rail | Net volume of 30 days, USDC | Workers in 30 days | Status |',
        '| --- | ---: | ---: | --- |',
        '| [Rail alpha](https://ledger.test/rails/alpha) | 1,000.00 → 1,500.25 | 4 → 6 | paying |',
        '| [Rail beta](https://ledger.test/rails/beta) | unknown → 0.004000 filtered | unknown → 12,345 | pre-traction → paying |',
        '',
      ].join('\n'),
    )
    expect(body).not.toContain('| Rail gamma')
    expect(body).not.toContain('9,999')
  })

  test('a figure that became known is not called a move', () => {
    const [from, to] = [at('2026-11-15T12:00:00Z'), at('2026-11-20T12:00:00Z')]
    const first = goodPoll(from, { ...usdc(7), uniqueWorkers30d: null })
    const alpha = [first, goodPoll(to, { ...usdc(7), uniqueWorkers30d: 4 })]
    expect(articles({ alpha }).at(-1)?.excerpt).toContain(
      '1 polled rail: 1 rail had a figure become known or unknown.',
    )
  })

  test('lists rails without a reading in the week before in a separate section', () => {
    expect(body).toContain('## New readings')
    expect(body).toContain('| [Rail zeta](https://ledger.test/rails/zeta) | 50.00 | 2 | paying |')
  })

  test('the weekly article counts only the polls and failures of its week', () => {
    expect(body).toContain(
      'From Monday 2026-11-16 to Sunday 2026-11-22 (UTC) the ledger made 7 polls of 5 rails. 2 polls failed.',
    )
    expect(body).toContain(
      String.raw`| [Rail alpha](https://ledger.test/rails/alpha) | 1 | 3 | GET https://a.example \| \<b\>500\</b\> |`,
    )
    expect(body).toContain('No poll of `epsilon` succeeded this week')
  })

  test('lists opened and closed flags except those of failed polls', () => {
    expect(body).toContain(
      [
        '## What opened',
        '',
        '- 2026-11-17: [Rail beta](https://ledger.test/rails/beta) began to pay; it was pre-traction.',
        String.raw`- 2026-11-18: [A \*doubt\*](https://ledger.test/rails/alpha)`,
        '',
        '## What closed',
        '',
        '- 2026-11-20: [Rail zeta](https://ledger.test/rails/zeta) is no longer paying; it is dormant.',
        '- 2026-11-19: [A clock](https://ledger.test/rails/gamma)',
        '',
      ].join('\n'),
    )
    expect(body).not.toMatch(/a failed poll|before$|after$/m)
  })

  test('the weekly article is named by its ISO week and dated on the Monday after', () => {
    expect(article).toMatchObject({
      slug: 'ledger-week-2026-w47',
      title:
        'The ledger in week 47 of 2026: 1 rail ended with another status, 1 moved by a tenth or more, 1 new reading',
      date: '2026-11-23',
      keywords: ['weekly', '2026-w47', 'alpha', 'beta', 'zeta'],
      excerpt:
        '2026-11-16 to 2026-11-22, 5 polled rails: 1 rail ended with another status, 1 moved by a tenth or more; 1 new reading; 1 began to pay; 1 stopped paying; 1 flag opened, 1 closed; 2 of 7 polls failed. The 30-day volume over 2 earning rails (net) went from 1,007.00 to 1,507.25 USDC.',
    })
  })

  test('charts the volume of rails known all week and repeats the numbers in words', () => {
    const numbers =
      'start 1,007.00; Mon 11-16 1,207.50; Tue 11-17 1,207.50; Wed 11-18 1,207.50; Thu 11-19 1,207.50; Fri 11-20 1,207.50; Sat 11-21 1,207.50; Sun 11-22 1,507.25'
    expect(body).toContain(
      `![30-day volume over 2 earning rails, USDC: ${numbers}](https://ledger.test/desk/ledger-week-2026-w47.svg)`,
    )
    const [chart, ...others] = article?.charts ?? []
    expect(others).toEqual([])
    expect(chart?.name).toBe('ledger-week-2026-w47')
    expect(chart?.svg).toContain(`<desc>${numbers}.</desc>`)
    expect(body).toContain('The total excludes 2 rails whose volume became known during the week.')
  })

  test('the weekly article is the same at any later time for the same history', () => {
    const later = articles(busyWeek, { events: busyEvents, nowMs: at('2027-02-01T08:00:00Z') })
    expect(later.slice(0, 2)).toEqual(list)
    expect(weeks(later)).toEqual([...weeks(list), 'ledger-week-2026-w48'])
  })
})

test('a quiet week yields one paragraph without table, chart and empty sections', () => {
  const polls = alphaPolls({ '2026-11-15T12:00:00Z': 1000, '2026-11-16T12:00:00Z': 1000.001 })
  const article = articles(polls).at(-1)
  expect(article?.title).toBe('The ledger in week 47 of 2026: nothing changed much')
  expect(article?.charts).toEqual([])
  expect(article?.body.split('## ')[0]).toBe(
    'From Monday 2026-11-16 to Sunday 2026-11-22 (UTC) the ledger made 1 poll of 1 rail. None failed. Nothing changed much: every rail kept its status, and no volume or number of workers moved by a tenth. No rail began or stopped paying, and no flag opened or closed.\n\nThe 30-day volume over 1 earning rail (net) stayed at 1,000.00 USDC.\n\n',
  )
  expect(article?.body.match(/^## .*$/gm)).toEqual(['## How to read this'])
})

describe('a week of failures', () => {
  test('a week without a good poll shows earlier figures and states that none of the week is known', () => {
    const article = articles({
      alpha: [
        goodPoll(at('2026-11-15T12:00:00Z'), usdc(1000)),
        failedPoll(at('2026-11-16T12:00:00Z'), 'timed out'),
        failedPoll(at('2026-11-17T12:00:00Z'), 'HTTP 503'),
      ],
    }).at(-1)
    expect(article?.title).toBe('The ledger in week 47 of 2026: no poll succeeded')
    expect(article?.body).toContain(
      'the ledger made 2 polls of 1 rail. 2 polls failed. No figures of this week are known, so earlier figures are shown.',
    )
    expect(article?.body).toContain(
      '| [Rail alpha](https://ledger.test/rails/alpha) | 2 | 2 | HTTP 503 |',
    )
    expect(article?.body).not.toContain('Nothing changed')
  })

  test('a week before the first good poll shows no figures and no chart', () => {
    const article = only(articles({ alpha: [failedPoll(at('2026-11-16T12:00:00Z'))] }))
    expect(article.charts).toEqual([])
    expect(article.excerpt).not.toContain('30-day volume')
  })
})

describe('weekly articles', () => {
  const polled = (...times: string[]) => ({ alpha: times.map((time) => goodPoll(at(time))) })

  test('weekly articles cover only complete weeks', () => {
    const polls = polled('2026-11-16T00:00:00Z')
    expect(articles(polls, { nowMs: at('2026-11-22T23:59:59.999Z') })).toEqual([])
    expect(weeks(articles(polls, { nowMs: at('2026-11-23T00:00:00Z') }))).toHaveLength(1)
  })

  test('weekly articles cover only weeks with polls', () => {
    const list = articles(polled('2026-11-02T00:00:00Z', '2026-11-16T00:00:00Z'))
    expect(weeks(list)).toEqual(['ledger-week-2026-w45', 'ledger-week-2026-w47'])
  })

  test('weekly articles are named by the year of their Thursday', () => {
    const times = ['2026-12-31', '2027-01-03', '2027-01-04', '2020-12-28', '2021-01-03']
    const slugs = times.map((day) => {
      const timeMs = at(`${day}T12:00:00Z`)
      return articles(polled(`${day}T12:00:00Z`), { nowMs: timeMs + 7 * 86_400_000 })[0]?.slug
    })
    expect(slugs).toEqual([
      'ledger-week-2026-w53',
      'ledger-week-2026-w53',
      'ledger-week-2027-w01',
      'ledger-week-2020-w53',
      'ledger-week-2020-w53',
    ])
  })

  test('weekly articles do not cover weeks more than 52 weeks ago', () => {
    const list = articles(polled('2026-11-16T00:00:00Z'), { nowMs: at('2027-11-15T00:00:01Z') })
    expect(list).toEqual([])
  })
})

test('the weekly article mentions a changed filter rule', () => {
  const second = { ...goodPoll(at('2026-11-16T12:00:00Z'), usdc(900)), rule: 'payouts v2' }
  const article = articles({ alpha: [goodPoll(at('2026-11-15T12:00:00Z')), second] }).at(-1)
  expect(article?.body).toContain(
    'The filter rule of `alpha` changed from payouts v1 to payouts v2: its two figures follow different rules and cannot be compared.',
  )
})

test('rail names and errors cannot inject Markdown into the weekly article', () => {
  const name = 'Evil | [x](javascript:1)\n# <script>`'
  const polls = alphaPolls({ '2026-11-15T12:00:00Z': 1, '2026-11-16T12:00:00Z': 2 })
  const rails = [railRecord('alpha', { authored: { display_name: name } })]
  const lines = articles(polls, { rails }).at(-1)?.body.split('\n')
  const row = lines?.find((line) => line.includes('Evil'))
  expect(row).toBe(
    '| [Evil \\| \\[x\\](javascript:1) # \\<script\\>\\`](https://ledger.test/rails/alpha) | 1.00 → 2.00 | 4 | paying |',
  )
})
