/** The commit message of a build: a subject that says what moved, and a body that lists it all. */
import { numbered } from '../../src/core/number-text.ts'
import type { Change } from './changes.ts'
import { oneLine } from './one-line.ts'

const SUBJECT_MAX_CHARS = 120
const NAMED_STATUSES = 3

/** Subject, empty line, body; pure. `first` where there was no earlier build to compare with. */
export function commitMessage(
  changes: readonly Change[],
  options: { readonly first: boolean },
): string {
  const lines = changes.map((change) => oneLine(line(change)))
  return `${subject(changes, options.first)}\n\n${lines.join('\n')}\n`
}

function subject(changes: readonly Change[], first: boolean): string {
  const countOf = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).length
  if (first) {
    const [rails, documents] = [countOf('rail added'), countOf('document added')]
    return `ledger: first build, ${numbered(rails, 'rail')} in ${numbered(documents, 'document')}`
  }
  const area = AREAS.find(([, kinds]) => changes.some((change) => kinds.includes(change.kind)))
  const parts = [
    ...statusParts(changes),
    ...PARTS.flatMap(([kind, one, many]) => {
      const count = countOf(kind)
      return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
    }),
  ]
  if (parts.length === 0) parts.push(`${numbered(changes.length, 'document')} changed`)
  return fitted(`${area?.[0] ?? 'documents'}: `, parts)
}

const AREAS: readonly (readonly [string, readonly Change['kind'][]])[] = [
  ['rails', ['status', 'rail added', 'rail removed', 'poll failed', 'poll recovered', 'rail']],
  ['pacts', ['pact settled', 'pact opened']],
  ['receipts', ['receipt verified', 'receipt accepted']],
  ['flags', ['flag opened', 'flag closed']],
  ['desk', ['article published']],
]

/** In the order in which they stand in a subject, with one and with many. */
const PARTS: readonly (readonly [Change['kind'], string, string])[] = [
  ['rail added', 'rail added', 'rails added'],
  ['rail removed', 'rail removed', 'rails removed'],
  ['poll failed', 'poll failed', 'polls failed'],
  ['poll recovered', 'poll recovered', 'polls recovered'],
  ['flag opened', 'flag opened', 'flags opened'],
  ['flag closed', 'flag closed', 'flags closed'],
  ['pact settled', 'pact settled', 'pacts settled'],
  ['pact opened', 'pact opened', 'pacts opened'],
  ['receipt accepted', 'receipt accepted', 'receipts accepted'],
  ['receipt verified', 'receipt verified', 'receipts verified'],
  ['rail', 'rail with new figures', 'rails with new figures'],
  ['article published', 'article published', 'articles published'],
]

function statusParts(changes: readonly Change[]): string[] {
  const moved = changes.filter((change) => change.kind === 'status')
  if (moved.length > NAMED_STATUSES) return [`${moved.length} rails changed status`]
  return moved.map(({ rail, from, to }) => `${oneLine(rail)} ${from} → ${to}`)
}

/** As many parts as fit; the rest is counted, since the body has it. */
function fitted(prefix: string, parts: readonly string[]): string {
  for (let shown = parts.length; shown > 0; shown -= 1) {
    const more = shown === parts.length ? [] : [`${parts.length - shown} more`]
    const text = prefix + [...parts.slice(0, shown), ...more].join('; ')
    if (text.length <= SUBJECT_MAX_CHARS) return text
  }
  return `${prefix}${parts.length} changes`
}

// oxlint-disable-next-line consistent-return -- the compiler sees that the switch is exhaustive
function line(change: Change): string {
  switch (change.kind) {
    case 'status':
      return `${change.rail}: ${change.from} → ${change.to}`
    case 'poll failed':
      return `${change.rail}: poll failed (${change.error})`
    case 'rail': {
      const names = [...change.figures.map(({ name }) => name), ...change.fields]
      return `${change.rail}: ${names.join(', ')}`
    }
    case 'rail added':
    case 'rail removed':
    case 'poll recovered':
      return `${change.rail}: ${change.kind}`
    case 'flag opened':
    case 'flag closed':
      return `${change.kind}: ${change.title}`
    case 'pact opened':
    case 'pact settled':
      return `pact ${change.pact} ${change.kind === 'pact settled' ? 'settled' : 'opened'} ${change.title}`
    case 'receipt accepted':
    case 'receipt verified':
      return `${change.kind}: ${change.receipt}`
    case 'article published':
      return `desk: ${change.title}`
    case 'document added':
    case 'document changed':
    case 'document removed':
      return `${change.kind}: ${change.path}`
  }
}
