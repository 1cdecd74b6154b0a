/** The change of the last build as Markdown, for people and agents; pure. */
import { FIGURES } from './changes.ts'
import type { Change, FigureChange, FigureName } from './changes.ts'
import { oneLine } from './one-line.ts'

const AMOUNT_DIGITS = 6
const PERCENT_DIGITS = 2

const SECTIONS = ['Rails', 'Figures', 'Flags', 'Pacts and receipts', 'Desk', 'Documents'] as const
type Section = (typeof SECTIONS)[number]

/** No time stands in it, so that the same change gives the same bytes. */
export function diffMarkdown(
  changes: readonly Change[],
  options: { readonly first: boolean },
): string {
  const items = changes.map(told)
  const sections = SECTIONS.flatMap((title) => {
    const lines =
      title === 'Figures'
        ? figureTable(changes)
        : items.flatMap(([section, text]) =>
            section === title && text !== null ? [`- ${text}`] : [],
          )
    return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
  })
  const lead = options.first
    ? 'There is no earlier build to compare with: everything is new.'
    : 'What changed with the last build that changed a fact.'
  return ['# Last build', '', lead, '', ...sections].join('\n')
}

/** Where a change stands and in what words; null where the table of figures says it all. */
// oxlint-disable-next-line consistent-return -- the compiler sees that the switch is exhaustive
function told(change: Change): [Section, string | null] {
  switch (change.kind) {
    case 'rail added':
      return ['Rails', `${code(change.rail)} is listed now.`]
    case 'rail removed':
      return ['Rails', `${code(change.rail)} is no longer listed.`]
    case 'status':
      return ['Rails', `${code(change.rail)} went from **${change.from}** to **${change.to}**.`]
    case 'poll failed':
      return ['Rails', `${code(change.rail)} could not be polled: ${plain(change.error)}`]
    case 'poll recovered':
      return ['Rails', `${code(change.rail)} could be polled again.`]
    case 'rail':
      return ['Rails', fieldsText(change.rail, change.fields)]
    case 'flag opened':
    case 'flag closed':
      return ['Flags', flagText(change)]
    case 'pact opened':
      return ['Pacts and receipts', `Pact ${plain(change.pact)} opened: ${plain(change.title)}`]
    case 'pact settled':
      return ['Pacts and receipts', `Pact ${plain(change.pact)} settled: ${plain(change.title)}`]
    case 'receipt accepted':
      return ['Pacts and receipts', `Receipt ${code(change.receipt)} accepted.`]
    case 'receipt verified':
      return ['Pacts and receipts', `Receipt ${code(change.receipt)} verified on chain.`]
    case 'article published':
      return ['Desk', plain(change.title)]
    case 'document added':
    case 'document changed':
    case 'document removed':
      return ['Documents', `${change.kind.slice('document '.length)}: ${code(change.path)}`]
  }
}

function fieldsText(rail: string, fields: readonly string[]): string | null {
  return fields.length === 0 ? null : `${code(rail)} has a new ${fields.map(code).join(', ')}.`
}

function flagText(change: Extract<Change, { kind: 'flag opened' | 'flag closed' }>): string {
  const verb = change.kind === 'flag opened' ? 'Opened' : 'Closed'
  const rail = change.rail === null ? '' : ` on ${code(change.rail)}`
  return `${verb}: ${code(change.flag)}${rail}: ${plain(change.title)}`
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

/** A figure with its unit; what is unknown says so and is not 0. */
function amount(name: FigureName, value: number | null): string {
  if (value === null) return 'unknown'
  const { unit } = FIGURES[name]
  if (unit === '%') return `${trimmed(value * 100, PERCENT_DIGITS)} %`
  return unit === '' ? String(value) : `${trimmed(value, AMOUNT_DIGITS)} ${unit}`
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, '')
}

function code(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'")}\``
}

/** Text from outside as text: none of it may become a link, an image, HTML or a table cell. */
function plain(text: string): string {
  return oneLine(text).replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, (mark) => `\\${mark}`)
}
