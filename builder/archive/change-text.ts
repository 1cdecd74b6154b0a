/** Summarises changes of the facts as Markdown and as a commit message. */
import { numbered } from '../../src/core/number-text.ts'

const MESSAGE_MAX_CHARS = 120
const NAMED_STATUSES = 3

/** Sections of the diff in their order, by the first word of a commit message. */
const SECTIONS = {
  rails: 'Rails',
  flags: 'Flags',
  pacts: 'Pacts and receipts',
  receipts: 'Pacts and receipts',
  desk: 'Desk',
  documents: 'Documents',
} as const satisfies Record<string, string>
type Area = keyof typeof SECTIONS

/** Areas, in the order in which a commit message counts them. */
const AREA_OF = {
  status: 'rails',
  'rail added': 'rails',
  'rail removed': 'rails',
  'poll failed': 'rails',
  'poll recovered': 'rails',
  'flag opened': 'flags',
  'flag closed': 'flags',
  'pact settled': 'pacts',
  'pact opened': 'pacts',
  'receipt accepted': 'receipts',
  'receipt verified': 'receipts',
  rail: 'rails',
  'article published': 'desk',
  'document added': 'documents',
  'document changed': 'documents',
  'document removed': 'documents',
} as const satisfies Record<string, Area>
export type ChangeKind = keyof typeof AREA_OF

/** The area of the first kind that occurs begins the commit message. */
const FIRST_AREAS: readonly Area[] = ['rails', 'pacts', 'receipts', 'flags', 'desk']

export interface Change {
  readonly kind: ChangeKind
  /** Markdown; null where the table of figures shows the change. */
  readonly item: string | null
  /** Text for the commit message, for changes of status. */
  readonly transition?: string
  readonly figureRows?: readonly string[]
}

/** `first`: there was no earlier build to compare with. */
export function diffMarkdown(
  changes: readonly Change[],
  { first }: { readonly first: boolean },
): string {
  const rows = changes.flatMap(({ figureRows = [] }) => figureRows)
  const table = ['| rail | figure | before | now |', '|---|---|--:|--:|', ...rows]
  const itemsOf = (title: string) =>
    changes.flatMap(({ kind, item }) =>
      SECTIONS[AREA_OF[kind]] === title && item !== null ? [`- ${item}`] : [],
    )
  const [rails, ...others] = [...new Set(Object.values(SECTIONS))]
  const sections = [rails, 'Figures', ...others].flatMap((title = '') => {
    const lines = title !== 'Figures' ? itemsOf(title) : rows.length === 0 ? [] : table
    return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
  })
  const lead = first
    ? 'There is no earlier build to compare with: everything is new.'
    : 'What changed with the last build that changed a fact.'
  return ['# Last build', '', lead, '', ...sections].join('\n')
}

/** One line. The commit has the diff with all changes. */
export function commitMessage(
  changes: readonly Change[],
  { first }: { readonly first: boolean },
): string {
  return first ? firstMessage(changes) : laterMessage(changes)
}

function firstMessage(changes: readonly Change[]): string {
  const rails = numbered(ofKind(changes, 'rail added').length, 'rail')
  const documents = numbered(ofKind(changes, 'document added').length, 'document')
  return `ledger: first build, ${rails} in ${documents}`
}

function ofKind(changes: readonly Change[], kind: string): readonly Change[] {
  return changes.filter((change) => change.kind === kind)
}

function laterMessage(changes: readonly Change[]): string {
  const areas = new Set<Area>(changes.map(({ kind }) => AREA_OF[kind]))
  const area = FIRST_AREAS.find((one) => areas.has(one)) ?? 'documents'
  const parts = Object.entries(AREA_OF).flatMap(([kind, areaOfKind]) =>
    areaOfKind === 'documents' ? [] : countedParts(kind, ofKind(changes, kind)),
  )
  if (parts.length === 0) parts.push(`${numbered(changes.length, 'document')} changed`)
  return joinFitting(`${area}: `, parts)
}

function countedParts(kind: string, changes: readonly Change[]): string[] {
  const count = changes.length
  if (count === 0) return []
  if (kind === 'status') {
    const parts = changes.flatMap((change) => change.transition ?? [])
    return count > NAMED_STATUSES ? [`${count} rails changed status`] : parts
  }
  const words = kind === 'rail' ? 'rail with new figures' : kind
  return [`${count} ${count === 1 ? words : words.replace(' ', 's ')}`]
}

function joinFitting(prefix: string, parts: readonly string[]): string {
  for (let shown = parts.length; shown > 0; shown -= 1) {
    const more = shown === parts.length ? [] : [`${parts.length - shown} more`]
    const text = prefix + [...parts.slice(0, shown), ...more].join('; ')
    if (text.length <= MESSAGE_MAX_CHARS) return text
  }
  return `${prefix}${parts.length} changes`
}

export function code(text: string): string {
  return `\`${oneLine(text).replaceAll('`', "'")}\``
}

/** Escapes untrusted text, so that it cannot become a link, an image, HTML or a table cell. */
export function escapeMarkdown(text: string): string {
  return oneLine(text).replaceAll(/[\\`*_{}[\]<>()#+!|~&]/g, (mark) => `\\${mark}`)
}

/** Keeps titles and errors from starting a line. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
