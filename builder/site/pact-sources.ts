/** Whether the sources of a pact agree: sources as columns, facts as rows. */
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent } from '../../src/core/pact/sources.ts'
import { doubt, facts, para, section, stacked } from '../../src/pages/blocks.ts'
import { pencil, time } from '../../src/pages/figures.ts'
import { code, inline, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { column, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'

/** What the pages show in addition to the entry of a pact. */
export interface Seen {
  readonly logs: readonly EscrowEvent[]
  readonly escrow: World['pacts']['recorded'][number]['escrow']
  readonly disagreements: readonly string[]
  readonly deadline: string | null
  readonly workHash: string | null
  readonly isManifestHeld: boolean
}

/** What one source says about one fact. `key`: equal where two sources say the same; null if it says nothing. */
export interface PactStatement {
  readonly key: string | null
  readonly shown: Inline
}

export const absent: PactStatement = { key: null, shown: pencil('not part of it') }
export const unsaid: PactStatement = { key: null, shown: pencil('not stated') }

export function said<T>(
  value: T | null | undefined,
  show: (value: T) => Inline,
  key: (value: T) => string = String,
): PactStatement {
  return value === null || value === undefined
    ? unsaid
    : { key: key(value).toLowerCase(), shown: show(value) }
}

export const dayOf = (at: string) => at.slice(0, 10)
export const pactText = (amount: number | string) => `${amount} PACT`

/** Sources as columns and facts as rows, so that a contradiction is a red row. `missing`: why a source says nothing. */
export function agreement(
  sources: readonly (readonly [name: string, missing: string | null])[],
  rows: readonly (readonly [fact: string, ...statements: readonly PactStatement[]])[],
  { disagreements }: Seen,
): HtmlAndMarkdown {
  const shown = rows
    .filter(([, ...statements]) => statements.some(({ key }) => key !== null))
    .map(([label, ...statements]) => {
      const keys = statements.flatMap(({ key }) => key ?? [])
      const isSame = new Set(keys).size === 1
      const word = keys.length < 2 ? 'one' : isSame ? 'agree' : 'clash'
      return { label, statements, word } as const
    })
  const words = { one: pencil('one source'), agree: '✓ agree', clash: '✗ contradict' } as const
  return section(
    'agree',
    'Do the sources agree?',
    shown.length === 0
      ? para('No source states a fact that another could confirm.')
      : table(shown, {
          id: 'sources',
          caption:
            'A pact counts only if what was agreed, what the contract holds and what was paid are the same.',
          sortable: false,
          rowData: ({ word }) => ({ row: word }),
          columns: [
            column('Fact', ({ label }) => label),
            ...sources.map(([name, missing], at) =>
              column(name, ({ statements }: (typeof shown)[number]) => {
                const statement = statements[at] ?? unsaid
                return statement === unsaid && missing !== null ? pencil(missing) : statement.shown
              }),
            ),
            column('Verdict', ({ word }) => words[word]),
          ],
        }),
    disagreements.length === 0
      ? null
      : stacked(disagreements.map((text) => doubt('warning', untrustedText(text)))),
  )
}

export function escrowAbout({ escrow }: Seen): Inline {
  const read =
    escrow === undefined
      ? pencil('Not read for this pact.')
      : inline`Status ${escrow.status}, last log ${link(escrow.explorer_url, time(escrow.at))}.`
  return inline`${code(pactEscrow.address)} on ${pactEscrow.chain}, which locks PACT until the work is approved. ${read}`
}

export const escrowColumn = ({ escrow }: Seen) =>
  ['Escrow contract', escrow === undefined ? 'not read' : null] as const

export function sourcesSection(entries: Parameters<typeof facts>[0]): HtmlAndMarkdown {
  return section('sources-heading', 'What each source is', facts(entries))
}
