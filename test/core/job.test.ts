import { describe, expect, test } from 'vitest'

import {
  answerDays,
  decide,
  jobEvents,
  jobRoles,
  jobStatuses,
  maxDeadlineMs,
  roleOf,
  statusAt,
} from '../../src/core/job.ts'
import type { JobRefusal, JobRole } from '../../src/core/job.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'

const refusals = {
  '400': 'invalid_input',
  '403': 'forbidden',
  '404': 'unknown_job',
  '409': 'conflict',
} as const satisfies Record<string, JobRefusal>

/** The state after each event by role, or the status of its refusal; `ended`: accepted, cancelled and expired. */
const beforeDeadline = `
state     event    poster    awardee   bidder    stranger  clock
none      post     open      403       403       403       403
none      bid      404       404       404       404       404
none      award    404       404       404       404       404
none      deliver  404       404       404       404       404
none      accept   404       404       404       404       404
none      dispute  404       404       404       404       404
none      cancel   404       404       404       404       404
none      expire   404       404       404       404       404
open      post     409       403       403       403       403
open      bid      403       open      open      open      403
open      award    awarded   403       403       403       403
open      deliver  403       409       403       403       403
open      accept   409       403       403       403       409
open      dispute  409       409       403       403       403
open      cancel   cancelled 403       403       403       403
open      expire   403       403       403       403       409
awarded   post     409       403       403       403       403
awarded   bid      403       409       409       409       403
awarded   award    409       403       403       403       403
awarded   deliver  403       delivered 403       403       403
awarded   accept   409       403       403       403       409
awarded   dispute  409       409       403       403       403
awarded   cancel   cancelled 403       403       403       403
awarded   expire   403       403       403       403       409
delivered post     409       403       403       403       403
delivered bid      403       409       409       409       403
delivered award    409       403       403       403       403
delivered deliver  403       409       403       403       403
delivered accept   accepted  403       403       403       409
delivered dispute  disputed  disputed  403       403       403
delivered cancel   409       403       403       403       403
delivered expire   403       403       403       403       409
ended     post     409       403       403       403       403
ended     bid      403       409       409       409       403
ended     award    409       403       403       403       403
ended     deliver  403       409       403       403       403
ended     accept   409       403       403       403       409
ended     dispute  409       409       403       403       403
ended     cancel   409       403       403       403       403
ended     expire   403       403       403       403       409
disputed  post     409       403       403       403       403
disputed  bid      403       409       409       409       403
disputed  award    409       403       403       403       403
disputed  deliver  403       409       403       403       403
disputed  accept   accepted  403       403       403       409
disputed  dispute  409       409       403       403       403
disputed  cancel   409       403       403       403       403
disputed  expire   403       403       403       403       409
`

/** The rows that differ from the deadline on. */
const fromDeadline = `
state     event    poster    awardee   bidder    stranger  clock
none      post     400       403       403       403       403
open      bid      403       409       409       409       403
open      award    409       403       403       403       403
open      cancel   409       403       403       403       403
open      expire   403       403       403       403       expired
awarded   deliver  403       409       403       403       403
awarded   cancel   409       403       403       403       403
awarded   expire   403       403       403       403       expired
`

/** The rows that differ once a delivery has waited for 14 days. */
const unanswered = `
state     event    poster    awardee   bidder    stranger  clock
delivered accept   accepted  403       403       403       accepted
delivered dispute  409       409       403       403       403
`

/** Cells by `state event role`. */
function cellsOf(table: string): Map<string, string> {
  const [head = '', ...lines] = table.trim().split('\n')
  const roles = head.split(/\s+/).slice(2)
  expect(roles).toEqual([...jobRoles])
  return new Map(
    lines.flatMap((line) => {
      const [name, event, ...cells] = line.split(/\s+/)
      const states = name === 'ended' ? ['accepted', 'cancelled', 'expired'] : [name]
      return states.flatMap((state) =>
        cells.map((cell, index) => [`${state} ${event} ${roles[index]}`, cell] as const),
      )
    }),
  )
}

const early = cellsOf(beforeDeadline)
const late = new Map([...early, ...cellsOf(fromDeadline)])
const unansweredCells = new Map([...late, ...cellsOf(unanswered)])
const deadlineMs = Date.UTC(2026, 10, 22)
const deliveredMs = deadlineMs - hourMs
const answerMs = deliveredMs + answerDays * dayMs
const states = ['none', ...jobStatuses] as const

const cases = states.flatMap((status) =>
  jobEvents.flatMap((event) => jobRoles.map((role) => ({ status, event, role }))),
)

describe('the transition matrix', () => {
  test('the job transition matrix lists every state, event and role once', () => {
    const names = cases.map((at) => `${at.status} ${at.event} ${at.role}`)
    expect([...early.keys()].toSorted()).toEqual(names.toSorted())
    expect([late.size, unansweredCells.size]).toEqual([early.size, early.size])
  })

  test.each([
    ['a millisecond before the deadline', deadlineMs - 1, early],
    ['at the deadline', deadlineMs, late],
    ['a millisecond before the time to answer is over', answerMs - 1, late],
    ['when the time to answer is over', answerMs, unansweredCells],
    ['long after the deadline', deadlineMs + maxDeadlineMs, unansweredCells],
  ])('every job transition is decided as listed %s', (_, nowMs, table) => {
    const found = new Map(
      cases.map(({ status, event, role }) => {
        const decision = decide({ status, deadlineMs, deliveredMs }, event, role, nowMs)
        const cell = decision.ok ? decision.status : decision.code
        return [`${status} ${event} ${role}`, cell] as const
      }),
    )
    const wanted = new Map(
      [...table].map(([key, cell]) => [key, new Map(Object.entries(refusals)).get(cell) ?? cell]),
    )
    expect(found).toEqual(wanted)
  })

  test('every refused job transition has a reason', () => {
    for (const { status, event, role } of cases) {
      const decision = decide({ status, deadlineMs, deliveredMs }, event, role, deadlineMs)
      if (!decision.ok) expect(decision.reason).toMatch(/^[a-z].{5,}[a-z]$/)
    }
  })
})

test('a passed deadline expires open and awarded jobs, but none that was delivered or has ended', () => {
  const statusesAt = (nowMs: number) =>
    jobStatuses.map((status) => statusAt({ status, deadlineMs }, nowMs))
  const [, , ...others] = jobStatuses
  expect(statusesAt(deadlineMs)).toEqual(['expired', 'expired', ...others])
  expect(statusesAt(deadlineMs - 1)).toEqual([...jobStatuses])
})

test.each([
  ['0xaa', true, 'poster'],
  ['0xbb', true, 'awardee'],
  ['0xcc', true, 'bidder'],
  ['0xdd', false, 'stranger'],
] as const satisfies readonly (readonly [string, boolean, JobRole])[])(
  'the wallet %s (has bid: %s) is the %s of the job',
  (wallet, hasBid, role) => {
    expect(roleOf(wallet, { poster: '0xaa', awardee: '0xbb', hasBid })).toBe(role)
  },
)
