import { z } from 'zod'

import { apiPrefix } from '../../src/contract/route.ts'
import { railStatus } from '../../src/contract/schemas/rail.ts'
import { counted } from '../../src/core/number-text.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import { count } from '../../src/pages/figures.ts'
import { markdownText } from '../../src/pages/html-and-markdown.ts'
import { railPath } from '../../src/pages/paths.ts'
import type { LedgerEvent } from '../world/world.ts'
import { daysPerWeek } from './rail-week.ts'
import type { RailWeek, Reading } from './rail-week.ts'
import {
  knownVolumes,
  usdcText,
  volumeChart,
  volumeInWords,
  volumeKind,
  volumeMoved,
  volumeTitle,
  volumesOf,
  weekVolume,
} from './weekly-volume.ts'
import type { WeekVolume } from './weekly-volume.ts'

interface WeekFacts {
  readonly weekStartMs: number
  readonly week: string
  readonly chartUrl: string
  readonly siteUrl: string
  readonly rails: readonly RailWeek[]
  readonly events: readonly LedgerEvent[]
}

type Counted = ReturnType<typeof countWeek>

type ReadRail = RailWeek & { readonly end: Reading }
type MovedRail = ReadRail & { readonly start: Reading }

const transitionData = z.object({ from: railStatus, to: railStatus })
/** Listed in the table of failed polls. */
const pollFailedFlag = z.object({ flag_kind: z.literal('poll_failed') })

const keywordRails = 10
const shownErrorLength = 160

export function weeklyText(facts: WeekFacts) {
  const counts = countWeek(facts)
  const { moved, newlyRead, volume } = counts
  return {
    title: `The ledger in ${facts.week}: ${headline(counts)}`,
    excerpt: excerptOf(counts),
    keywords: [...moved, ...newlyRead].slice(0, keywordRails).map(({ authored }) => authored.rail),
    body: bodyOf(counts),
    /** SVG; null where the volume did not change or is unknown. */
    chart: volume !== null && volumeMoved(volume) ? volumeChart(volume, facts.week) : null,
  }
}

function countWeek(facts: WeekFacts) {
  const { rails, events, weekStartMs } = facts
  const names = new Map(rails.map((rail) => [rail.authored.rail, nameOf(rail, facts)]))
  return {
    facts,
    polls: rails.reduce((sum, rail) => sum + rail.polls, 0),
    failed: rails.reduce((sum, rail) => sum + rail.failed, 0),
    moved: rails.filter(isMoved).toSorted((a, b) => volumeChange(b) - volumeChange(a)),
    known: rails.filter(({ start, end }) => start !== null && end !== null).length,
    newlyRead: rails.filter(isNewlyRead),
    carried: rails.filter((rail) => rail.failed === rail.polls),
    events: weekEvents(events, facts, (rail) => names.get(rail) ?? `\`${rail}\``),
    volume: weekVolume(weekStartMs, rails),
  }
}

/** Returns Markdown lines, oldest first. */
function weekEvents(
  events: readonly LedgerEvent[],
  { siteUrl }: WeekFacts,
  nameOf: (rail: string) => string,
) {
  const titleLine = ({ createdAtMs, rail, title }: LedgerEvent) => {
    const text = markdownText(title)
    return `${isoDate(createdAtMs)}: ${rail === null ? text : `[${text}](${siteUrl}${railPath(rail)})`}`
  }
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

function transitionOf(event: LedgerEvent, nameOf: (rail: string) => string) {
  const data = transitionData.safeParse(event.data)
  if (event.kind !== 'rail_transition' || event.rail === null || !data.success) return []
  return [{ ...data.data, day: isoDate(event.createdAtMs), name: nameOf(event.rail) }]
}

function isNewlyRead(rail: RailWeek): rail is ReadRail {
  return rail.start === null && rail.end !== null
}

/** Below these, a change by a tenth is noise. */
const leastMicroUsdc = 1e6
const leastWorkers = 5

/** True if the status changed, if a figure became known or unknown, or if it changed by a tenth or more. */
function isMoved(rail: RailWeek): rail is MovedRail {
  const { start, end } = rail
  if (start === null || end === null) return false
  const becameKnown = comparedFigures(start, end).some(
    ([was, is]) => (was === null) !== (is === null),
  )
  return start.status !== end.status || becameKnown || isFarApart(start, end)
}

function isFarApart(start: Reading, end: Reading): boolean {
  return comparedFigures(start, end).some(
    ([was, is, least]) =>
      was !== null && is !== null && Math.abs(is - was) >= Math.max(was / 10, least),
  )
}

function comparedFigures(start: Reading, end: Reading) {
  const [was = null, is = null] = volumesOf([start, end]).values
  return [
    [was, is, leastMicroUsdc],
    [start.figures.uniqueWorkers30d, end.figures.uniqueWorkers30d, leastWorkers],
  ] as const
}

function volumeChange({ start, end }: MovedRail): number {
  const [was, is] = volumesOf([start, end]).values
  return Math.abs((is ?? 0) - (was ?? 0))
}

/** From the first to the last of the readings, or one value where they are equal. */
function cells(readings: readonly Reading[]): string[] {
  const { isNet, values } = volumesOf(readings)
  const change = (texts: readonly string[]) => [...new Set(texts)].join(' → ')
  const volume = change(values.map(usdcText))
  return [
    isNet || values.every((value) => value === null) ? volume : `${volume} filtered`,
    change(readings.map(({ figures }) => countText(figures.uniqueWorkers30d))),
    change(readings.map(({ status }) => status)),
  ]
}

function nameOf({ authored }: RailWeek, { siteUrl }: WeekFacts): string {
  return `[${markdownText(authored.display_name)}](${siteUrl}${railPath(authored.rail)})`
}

function headline({ moved, newlyRead, polls, failed }: Counted): string {
  if (failed === polls) return 'no poll succeeded'
  if (moved.length === 0 && newlyRead.length === 0) return 'nothing changed much'
  return onlyTexts([
    moved.length > 0 && movedText(moved),
    newlyRead.length > 0 && counted(newlyRead.length, 'new reading'),
  ]).join(', ')
}

function movedText(moved: readonly MovedRail[]): string {
  const judged = moved.filter(({ start, end }) => start.status !== end.status)
  const others = moved.filter((rail) => !judged.includes(rail))
  const far = others.filter(({ start, end }) => isFarApart(start, end))
  const parts = [
    [judged, 'ended with another status'],
    [far, 'moved by a tenth or more'],
    [others.filter((rail) => !far.includes(rail)), 'had a figure become known or unknown'],
  ] as const
  const shown = parts.filter(([{ length }]) => length > 0)
  return shown
    .map(([{ length }, what], at) => `${at === 0 ? counted(length, 'rail') : length} ${what}`)
    .join(', ')
}

function countText(value: number | null): string {
  return count(value).md
}

function onlyTexts(parts: readonly (string | false)[]): string[] {
  return parts.filter((part) => part !== false)
}

function excerptOf(counts: Counted): string {
  const { facts, polls, failed, moved, newlyRead, events, volume } = counts
  const { beganToPay, stoppedPaying, flagsOpened, flagsClosed } = events
  const [from, to] = weekDates(facts)
  const happenings = onlyTexts([
    `${from} to ${to}, ${counted(facts.rails.length, 'polled rail')}: ${moved.length === 0 ? 'none changed much' : movedText(moved)}`,
    newlyRead.length > 0 && counted(newlyRead.length, 'new reading'),
    beganToPay.length > 0 && `${countText(beganToPay.length)} began to pay`,
    stoppedPaying.length > 0 && `${countText(stoppedPaying.length)} stopped paying`,
    flagsOpened.length + flagsClosed.length > 0 &&
      `${counted(flagsOpened.length, 'flag')} opened, ${countText(flagsClosed.length)} closed`,
    failed > 0 && `${countText(failed)} of ${counted(polls, 'poll')} failed`,
  ])
  return `${happenings.join('; ')}.${volume === null ? '' : ` ${volumeSentence(volume)}`}`
}

function weekDates({ weekStartMs }: WeekFacts): [string, string] {
  return [isoDate(weekStartMs), isoDate(weekStartMs + (daysPerWeek - 1) * dayMs)]
}

function volumeSentence(volume: WeekVolume): string {
  const known = knownVolumes(volume).map(usdcText)
  const [start = '', end = ''] = [known[0], known.at(-1)]
  const over = `over ${counted(volume.rails, 'earning rail')} (${volumeKind(volume)})`
  return volumeMoved(volume)
    ? `The 30-day volume ${over} went from ${start} to ${end} USDC.`
    : `The 30-day volume ${over} stayed at ${end} USDC.`
}

function bodyOf(counts: Counted): string {
  const { beganToPay, stoppedPaying, flagsOpened, flagsClosed } = counts.events
  const sections = [
    introduction(counts),
    movedSection(counts),
    newlyReadSection(counts),
    listSection('What opened', [...beganToPay, ...flagsOpened]),
    listSection('What closed', [...stoppedPaying, ...flagsClosed]),
    failedSection(counts),
    caveatSection(counts),
  ]
  return sections.filter((section) => section !== '').join('\n')
}

function introduction(counts: Counted): string {
  const { facts, polls, failed, events } = counts
  const [from, to] = weekDates(facts)
  const outcome = failed === 0 ? 'None failed' : `${counted(failed, 'poll')} failed`
  const polled = `From Monday ${from} to Sunday ${to} (UTC) the ledger made ${counted(polls, 'poll')} of ${counted(facts.rails.length, 'rail')}. ${outcome}.`
  const { beganToPay, stoppedPaying, flagsOpened, flagsClosed } = events
  const quiet = [...beganToPay, ...stoppedPaying, ...flagsOpened, ...flagsClosed].length === 0
  const changes = quiet ? 'No rail began or stopped paying, and no flag opened or closed.' : ''
  return `${[polled, movedSentence(counts), changes].filter((text) => text !== '').join(' ')}\n`
}

function movedSentence({ known, moved, newlyRead, polls, failed }: Counted): string {
  if (failed === polls) return 'No figures of this week are known, so earlier figures are shown.'
  if (known === 0) return ''
  if (moved.length === 0) {
    const others =
      newlyRead.length === 0 ? 'every rail' : 'every rail that was read in the week before'
    return `Nothing changed much: ${others} kept its status, and no volume or number of workers moved by a tenth.`
  }
  const still = known - moved.length
  const others = still === 0 ? '' : `; ${countText(still)} ${still === 1 ? 'was' : 'were'} steady`
  return `${movedText(moved)}${others}.`
}

/** A GFM table of Markdown cells; `right` lists the right-aligned columns. */
function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string {
  const rule = header.map((_, index) => (right.includes(index) ? '---:' : '---'))
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function railTable<Rail extends RailWeek>(
  rails: readonly Rail[],
  facts: WeekFacts,
  readingsOf: (rail: Rail) => readonly Reading[],
): string {
  const header = ['Rail', 'Net volume of 30 days, USDC', 'Workers in 30 days', 'Status']
  const rows = rails.map((rail) => [nameOf(rail, facts), ...cells(readingsOf(rail))])
  return markdownTable(header, rows, [1, 2])
}

function movedSection({ moved, volume, facts }: Counted): string {
  const table = railTable(moved, facts, ({ start, end }) => [start, end])
  return onlyTexts([
    moved.length > 0 && `## What changed\n\n${table}`,
    volume !== null && `${volumeSentence(volume)}\n`,
    volume !== null &&
      volumeMoved(volume) &&
      `![${volumeTitle(volume)}: ${volumeInWords(volume)}](${facts.chartUrl})\n`,
  ]).join('\n')
}

function newlyReadSection({ newlyRead, facts }: Counted): string {
  if (newlyRead.length === 0) return ''
  const table = railTable(newlyRead, facts, ({ end }) => [end])
  return `## New readings\n\nThese rails had no successful poll in the seven days before.\n\n${table}`
}

function listSection(heading: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `## ${heading}\n\n${lines.map((line) => `- ${line}\n`).join('')}`
}

function failedSection({ facts }: Counted): string {
  const failing = facts.rails.filter(({ failed }) => failed > 0)
  if (failing.length === 0) return ''
  const table = markdownTable(
    ['Rail', 'Failed', 'Polls', 'Last error'],
    failing.map((rail) => [
      nameOf(rail, facts),
      countText(rail.failed),
      countText(rail.polls),
      markdownText((rail.lastError ?? '').slice(0, shownErrorLength)),
    ]),
    [1, 2],
  )
  return `## Polls that failed\n\n${table}`
}

function caveatSection({ facts, carried, volume }: Counted): string {
  const rails = (weeks: readonly RailWeek[]) =>
    weeks.map(({ authored }) => `\`${authored.rail}\``).join(', ')
  const caveats = onlyTexts([
    'A 30-day volume changes as payments enter and leave the window, so a difference between two readings is not the income of the week.',
    'Net volume leaves out money that came back to its payers. Where it is unknown, the volume after the filter rule is shown and named filtered. An unknown figure is not zero, and totals exclude it.',
    'A rail is listed if its status changed, if a figure became known or unknown, or if its volume or number of workers moved by a tenth or more, and by at least 1 USDC or 5 workers.',
    carried.length > 0 &&
      `No poll of ${rails(carried)} succeeded this week, so older figures are shown.`,
    ...facts.rails.flatMap(ruleCaveat),
    volume !== null &&
      volume.leftOut > 0 &&
      `The total excludes ${counted(volume.leftOut, 'rail')} whose volume became known during the week.`,
    `Every poll is listed at \`${facts.siteUrl}${apiPrefix}/rails/{rail}/history\`.`,
  ])
  return listSection('How to read this', caveats)
}

function ruleCaveat({ authored, start, end }: RailWeek): string[] {
  if (start === null || end === null || start.rule === end.rule) return []
  return [
    `The filter rule of \`${authored.rail}\` changed from ${markdownText(start.rule)} to ${markdownText(end.rule)}: its two figures follow different rules and cannot be compared.`,
  ]
}
