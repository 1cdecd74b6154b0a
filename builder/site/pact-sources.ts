/** Whether the sources of a pact agree: sources as columns, facts as rows. */
import { capitalized, grouped } from '../../src/core/number-text.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowStatus } from '../../src/core/pact/escrow.ts'
import { doubt, list, para, section } from '../../src/pages/blocks.ts'
import { day, hash, pencil } from '../../src/pages/figures.ts'
import { inline, join, link, strong, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { column, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'

type Pacts = World['pacts']
export type AnyPact =
  | Pacts['inFlight'][number]
  | Pacts['recorded'][number]
  | Pacts['settled'][number]

/** What the pages show in addition to the entry of a pact. */
export type Seen = ReturnType<typeof seenOf>

export function seenOf(pact: AnyPact, pacts: Pacts) {
  const { pact_id: id } = pact
  const isOther =
    pact.state === 'recorded' && pact.contract.toLowerCase() !== pactEscrow.address.toLowerCase()
  const manifest = pacts.manifests.find((held) => String(held.pactId) === id)
  return {
    logs: (isOther ? undefined : pacts.events.get(id)) ?? [],
    escrow: isOther ? undefined : pacts.escrow.get(id),
    /** How far the escrow was read; null if completely. */
    unread: isOther ? 'another contract, not read' : pacts.unread,
    disagreements: pacts.disagreements.get(id) ?? [],
    deadline: manifest?.checked.spec?.deadline ?? null,
    workHash: manifest?.checked.workHash ?? null,
    /** Whether the files of the agreement are published. */
    files: {
      spec: typeof manifest?.specText === 'string',
      instance: typeof manifest?.instanceText === 'string',
      script: typeof manifest?.specText === 'string' && pacts.reproduceScript !== null,
    },
    isManifestHeld: manifest !== undefined,
  }
}

/** Transactions of a demo are in no explorer. */
export function transaction(txHash: string, url: string | null | undefined): Inline {
  return typeof url === 'string' ? link(url, hash(txHash)) : hash(txHash)
}

/** Long hashes are shortened. */
export function withHashes(text: string): Inline {
  return text
    .split(/((?:0x|rcp_)[0-9a-f]{64})/)
    .map((part, at) => (at % 2 === 1 ? hash(part) : untrustedText(part)))
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
export const pactText = (amount: number | string) => `${grouped(String(amount))} PACT`

/** `missing`: why the source says nothing. */
type Source = readonly [name: string, missing: string | null]
type PactFact = readonly [fact: string, ...statements: readonly PactStatement[]]

/** Facts that a source states, and whether the sources state the same. */
export function compareSources(sources: readonly Source[], facts: readonly PactFact[]) {
  const rows = facts
    .filter(([, ...statements]) => statements.some(({ key }) => key !== null))
    .map(([label, ...statements]) => {
      const keys = statements.flatMap(({ key }) => key ?? [])
      const isSame = new Set(keys).size === 1
      const word = keys.length < 2 ? 'one' : isSame ? 'agree' : 'clash'
      return { label, statements, word } as const
    })
  return { sources, rows }
}

type Compared = ReturnType<typeof compareSources>

export function contradictions(
  { sources, rows }: Compared,
  { disagreements }: Seen,
): HtmlAndMarkdown | null {
  const clashes = rows
    .filter(({ word }) => word === 'clash')
    .map(({ label, statements }) => {
      const sides = statements.flatMap(({ key, shown }, at) =>
        key === null ? [] : [inline`${shown} (${sources[at]?.[0] ?? ''})`],
      )
      return inline`${label}: ${join(sides, ' ≠ ')}`
    })
  if (clashes.length === 0 && disagreements.length === 0) return null
  return doubt(
    'warning',
    clashes.length === 0
      ? join(
          disagreements.map((text) => inline`${withHashes(capitalized(text))}.`),
          ' ',
        )
      : inline`${strong('The sources contradict each other.')} ${join(clashes, '. ')}`,
  )
}

/** A contradiction is a red row. */
export function agreement({ sources, rows }: Compared, { disagreements }: Seen): HtmlAndMarkdown {
  const words = { one: pencil('one source'), agree: '✓ agree', clash: '✗ contradict' } as const
  return section(
    'agree',
    'Do the sources agree?',
    rows.length === 0
      ? para('No source states a fact that another could confirm.')
      : table(rows, {
          id: 'sources',
          caption:
            'A pact counts only if what was agreed, what the contract holds and what was paid are the same.',
          sortable: false,
          rowData: ({ word }) => ({ row: word }),
          columns: [
            column('Fact', ({ label }) => label),
            ...sources.map(([name, missing], at) =>
              column(name, ({ statements }: (typeof rows)[number]) => {
                const statement = statements[at] ?? unsaid
                return statement === unsaid && missing !== null ? pencil(missing) : statement.shown
              }),
            ),
            column('Verdict', ({ word }) => words[word]),
          ],
        }),
    rows.some(({ word }) => word === 'clash')
      ? list(disagreements.map((text) => withHashes(capitalized(text))))
      : null,
  )
}

/** What the escrow did with the amount: the title of the amount, and a sentence after it. */
const escrowTexts: Readonly<Record<EscrowStatus, readonly [title: string, text: string]>> = {
  Active: ['Locked', 'are locked in the escrow for the worker.'],
  WorkSubmitted: ['Locked', 'are locked in the escrow; the work was submitted.'],
  Completed: ['Paid out', 'were paid out by the escrow.'],
  Disputed: ['Locked', 'are locked in the escrow; the creator disputes the work.'],
  Refunded: ['Refunded', 'went back to the creator.'],
  Arbitrated: ['Arbitrated', 'were in arbitration, which has ended.'],
}

/** Null if the escrow was read and has the pact. */
export function whyNoEscrow({ escrow, unread }: Seen): string | null {
  return escrow === undefined ? (unread ?? 'no such pact') : null
}

export function escrowSum(seen: Seen) {
  const { escrow } = seen
  const place = `PACT on ${pactEscrow.chain}`
  return escrow === undefined
    ? { title: 'Locked', value: pencil(whyNoEscrow(seen) ?? ''), note: place }
    : {
        title: escrowTexts[escrow.status][0],
        value: grouped(escrow.amount_pact),
        note: inline`${place}, by the log of ${day(escrow.at)}`,
      }
}

export function escrowVerdict({ escrow, unread }: Seen): string {
  if (escrow !== undefined) {
    return `${pactText(escrow.amount_pact)} ${escrowTexts[escrow.status][1]}`
  }
  return unread === null
    ? 'The escrow holds nothing for this pact.'
    : 'Whether the escrow holds money for this pact was not read.'
}
