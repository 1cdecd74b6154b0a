/** Describes changes of the facts in Markdown and in commit messages, without times. */
import { numbered } from '../../src/core/number-text.ts'
import { FIGURES } from './changes.ts'
import type { Change, FigureChange, ComparedFigure } from './changes.ts'

const SUBJECT_MAX_CHARS = 120
const NAMED_STATUSES = 3
const SECTIONS = ['Rails', 'Figures', 'Flags', 'Pacts and receipts', 'Desk', 'Documents'] as const

interface ChangeText {
  readonly section: (typeof SECTIONS)[number]
  /** Markdown; null when the table of figures shows the change. */
  readonly item: string | null
  readonly line: string
}

/** `first`: there was no earlier build to compare with. */
export function diffMarkdown(
  changes: readonly Change[],
  { first }: { readonly first: boolean },
): string {
  const texts = changes.map(textOf)
  const sections = SECTIONS.flatMap((title) => {
    const items = texts.flatMap(({ section, item }) =>
      section === title && item !== null ? [`- ${item}`] : [],
    )
    const lines = title === 'Figures' ? figureTable(changes) : items
    return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
  })
  const lead = first
    ? 'There is no earlier build to compare with: everything is new.'
    : 'What changed with the last build that changed a fact.'
  return ['# Last build', '', lead, '', ...sections].join('\n')
}

export function commitMessage(
  changes: readonly Change[],
  { first }: { readonly first: boolean },
): string {
  const lines = changes.map((change) => oneLine(textOf(change).line))
  return `${first ? firstSubject(changes) : subject(changes)}\n\n${lines.join('\n')}\n`
}

// oxlint-disable-next-line consistent-return -- the compiler sees that the switch is exhaustive
function textOf(change: Change): ChangeText {
  const { kind } = change
  switch (kind) {
    case 'rail added':
    case 'rail removed':
    case 'poll recovered': {
      const words = {
        'rail added': 'is listed now.',
        'rail removed': 'is no longer listed.',
        'poll recovered': 'could be polled again.',
      }
      const item = `${code(change.rail)} ${words[kind]}`
      return { section: 'Rails', item, line: `${change.rail}: ${kind}` }
    }
    case 'status': {
      const { rail, from, to } = change
      const item = `${code(rail)} went from **${from}** to **${to}**.`
      return { section: 'Rails', item, line: `${rail}: ${from} → ${to}` }
    }
    case 'poll failed': {
      const item = `${code(change.rail)} could not be polled: ${escapeMarkdown(change.error)}`
      return { section: 'Rails', item, line: `${change.rail}: poll failed (${change.error})` }
    }
    case 'rail': {
      const { rail, figures, fields } = change
      const item = `${code(rail)} has a new ${fields.map(code).join(', ')}.`
      const names = [...figures.map(({ name }) => name), ...fields]
      const line = `${rail}: ${names.join(', ')}`
      return { section: 'Rails', item: fields.length === 0 ? null : item, line }
    }
    case 'flag opened':
    case 'flag closed': {
      const verb = kind === 'flag opened' ? 'Opened' : 'Closed'
      const rail = change.rail === null ? '' : ` on ${code(change.rail)}`
      const item = `${verb}: ${code(change.flag)}${rail}: ${escapeMarkdown(change.title)}`
      return { section: 'Flags', item, line: `${kind}: ${change.title}` }
    }
    case 'pact opened':
    case 'pact settled': {
      const verb = kind.slice('pact '.length)
      const item = `Pact ${escapeMarkdown(change.pact)} ${verb}: ${escapeMarkdown(change.title)}`
      const line = `pact ${change.pact} ${verb} ${change.title}`
      return { section: 'Pacts and receipts', item, line }
    }
    case 'receipt accepted':
    case 'receipt verified': {
      const words = kind === 'receipt accepted' ? 'accepted' : 'verified on chain'
      const item = `Receipt ${code(change.receipt)} ${words}.`
      return { section: 'Pacts and receipts', item, line: `${kind}: ${change.receipt}` }
    }
    case 'article published':
      return { section: 'Desk', item: escapeMarkdown(change.title), line: `desk: ${change.title}` }
    case 'document added':
    case 'document changed':
    case 'document removed': {
      const item = `${kind.slice('document '.length)}: ${code(change.path)}`
      return { section: 'Documents', item, line: `${kind}: ${change.path}` }
    }
  }
}

function figureTable(changes: readonly Change[]): string[] {
  const rows = changes.flatMap((change) =>
    change.kind === 'rail' ? change.figures.map((figure) => figureRow(change.rail, figure)) : [],
  )
  if (rows.length === 0) return []
  return ['| rail | figure | before | now |', '|---|---|--:|--:|', ...rows]
}

function figureRow(rail: string, { name, from, to }: FigureChange): string {
  return `| ${code(rail)} | ${FIGURES[name].label} | ${amount(name, from)} | ${amount(name, to)} |`
}

function amount(name: ComparedFigure, value: number | null): string {
  if (value === null) return 'unknown'
  const { unit } = FIGURES[name]
  if (unit === '%') return `${trimmed(value * 100, 2)} %`
  return unit === '' ? String(value) : `${trimmed(value, 6)} ${unit}`
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, '')
}

const AREAS: readonly (readonly [string, readonly Change['kind'][]])[] = [
  ['rails', ['status', 'rail added', 'rail removed', 'poll failed', 'poll recovered', 'rail']],
  ['pacts', ['pact settled', 'pact opened']],
  ['receipts', ['receipt verified', 'receipt accepted']],
  ['flags', ['flag opened', 'flag closed']],
  ['desk', ['article published']],
]

const COUNTED_KINDS: readonly Change['kind'][] = [
  'rail added',
  'rail removed',
  'poll failed',
  'poll recovered',
  'flag opened',
  'flag closed',
  'pact settled',
  'pact opened',
  'receipt accepted',
  'receipt verified',
  'rail',
  'article published',
]

function countOf(changes: readonly Change[], kind: Change['kind']): number {
  return changes.filter((change) => change.kind === kind).length
}

function firstSubject(changes: readonly Change[]): string {
  const rails = numbered(countOf(changes, 'rail added'), 'rail')
  const documents = numbered(countOf(changes, 'document added'), 'document')
  return `ledger: first build, ${rails} in ${documents}`
}

function subject(changes: readonly Change[]): string {
  const area = AREAS.find(([, kinds]) => changes.some(({ kind }) => kinds.includes(kind)))
  const counts = COUNTED_KINDS.flatMap((kind) => {
    const count = countOf(changes, kind)
    const words = kind === 'rail' ? 'rail with new figures' : kind
    return count === 0 ? [] : [`${count} ${count === 1 ? words : words.replace(' ', 's ')}`]
  })
  const parts = [...statusParts(changes), ...counts]
  if (parts.length === 0) parts.push(`${numbered(changes.length, 'document')} changed`)
  return joinFitting(`${area?.[0] ?? 'documents'}: `, parts)
}

function statusParts(changes: readonly Change[]): string[] {
  const moved = changes.filter((change) => change.kind === 'status')
  if (moved.length > NAMED_STATUSES) return [`${moved.length} rails changed status`]
  return moved.map(({ rail, from, to }) => `${oneLine(rail)} ${from} → ${to}`)
}

function joinFitting(prefix: string, parts: readonly string[]): string {
  for (let shown = parts.length; shown > 0; shown -= 1) {
    const more = shown === parts.length ? [] : [`${parts.length - shown} more`]
    const text = prefix + [...parts.slice(0, shown), ...more].join('; ')
    if (text.length <= SUBJECT_MAX_CHARS) return text
  }
  return `${prefix}${parts.length} changes`
}

function code(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'")}\``
}

/** Escapes text from outside: none of it may become a link, an image, HTML or a table cell. */
function escapeMarkdown(text: string): string {
  return oneLine(text).replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, (mark) => `\\${mark}`)
}

/** Keeps titles and errors from starting a line. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
