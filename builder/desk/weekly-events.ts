import { z } from 'zod'

import { railStatus } from '../../src/contract/schemas/rail.ts'
import { isoDate } from '../../src/core/time.ts'
import { markdownText } from '../../src/pages/html-and-markdown.ts'
import type { LedgerEvent } from '../world/world.ts'

const transitionData = z.object({ from: railStatus, to: railStatus })
/** Listed in the table of failed polls. */
const pollFailedFlag = z.object({ flag_kind: z.literal('poll_failed') })

/** Returns Markdown lines, oldest first. */
export function weekEvents(events: readonly LedgerEvent[], nameOf: (rail: string) => string) {
  const inOrder = events.toSorted((a, b) => a.createdAtMs - b.createdAtMs || a.seq - b.seq)
  const flags = inOrder.filter(({ data }) => !pollFailedFlag.safeParse(data).success)
  const transitions = inOrder.flatMap((event) => transitionOf(event, nameOf))
  return {
    flagsOpened: flags.filter(({ kind }) => kind === 'flag_opened').map(titleLine),
    flagsClosed: flags.filter(({ kind }) => kind === 'flag_closed').map(titleLine),
    beganToPay: transitions
      .filter(({ to }) => to === 'paying')
      .map(({ day, name, from }) => `${day}: ${name} began to pay; it was ${from}.`),
    stoppedPaying: transitions
      .filter(({ from }) => from === 'paying')
      .map(({ day, name, to }) => `${day}: ${name} is no longer paying; it is ${to}.`),
  }
}

function titleLine({ createdAtMs, title }: LedgerEvent): string {
  return `${isoDate(createdAtMs)}: ${markdownText(title)}`
}

function transitionOf(event: LedgerEvent, nameOf: (rail: string) => string) {
  const data = transitionData.safeParse(event.data)
  if (event.kind !== 'rail_transition' || event.rail === null || !data.success) return []
  return [{ ...data.data, day: isoDate(event.createdAtMs), name: nameOf(event.rail) }]
}
