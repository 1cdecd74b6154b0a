/** Published evidence, and forged evidence with right hashes, as an operator could make it. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { railAdapters } from '../../builder/rails/index.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import { railHistory, railStatus } from '../../src/contract/schemas/rail.ts'
import { unpack } from '../../src/core/evidence.ts'
import { figureNames, publicFigure, unknownFigures } from '../../src/core/figures.ts'
import { decidePoll, flagsOf, stateFromAudit } from '../../src/core/rail-poll.ts'
import { runCommand } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import { serveDuringTest } from '../support/local-server.ts'
import type { Ledger } from './ledger.ts'

export const json = z.record(z.string(), z.json())
export type Json = z.infer<typeof json>
export type Put = (body: unknown) => string
type EditLines = (lines: string[]) => string[]
export const text = (value: unknown): string => z.string().parse(value)
export const sha256 = (body: string): string => createHash('sha256').update(body).digest('hex')
const documentPath = (digest: unknown) => `/evidence/${text(digest)}.json`

export function createForger(ledgerOf: () => Ledger) {
  const fileOf = (path: string): string => {
    const { publicDir } = ledgerOf()
    const published = join(publicDir, 'current', `${path}.json`)
    return readFileSync(existsSync(published) ? published : join(publicDir, path), 'utf8')
  }
  const historyOf = (rail: string) =>
    railHistory.parse(JSON.parse(fileOf(`/api/v1/rails/${rail}/history`)))
  const bundlePath = (rail: string): string =>
    historyOf(rail).polls.find(({ outcome }) => outcome === 'ok')?.evidence_uri ?? ''

  /** `change` edits the bundle of the newest poll, or the first, and `put` adds a document. */
  function forge(
    rail: string,
    change: (bundle: Json, put: Put) => void,
    { refits = false, first = false } = {},
  ) {
    const files = new Map<string, string>()
    const put = (body: unknown): string => {
      const document = JSON.stringify(body)
      files.set(documentPath(sha256(document)), document)
      return sha256(document)
    }
    const history = historyOf(rail)
    const isGood = ({ outcome }: { readonly outcome: string }) => outcome === 'ok'
    const at = first ? history.polls.findLastIndex(isGood) : history.polls.findIndex(isGood)
    const bundle = json.parse(JSON.parse(fileOf(history.polls[at]?.evidence_uri ?? '')))
    change(bundle, put)
    const bodyOf = (digest: unknown) =>
      files.get(documentPath(digest)) ?? fileOf(documentPath(digest))
    const figures = refits ? refit(rail, bundle, bodyOf) : {}
    const polls = history.polls.map((poll, index) =>
      index === at ? { ...poll, ...figures, evidence_uri: documentPath(put(bundle)) } : poll,
    )
    files.set(`/api/v1/rails/${rail}/history`, JSON.stringify({ ...history, polls }))
    return files
  }

  function withLines(input: Json, put: Put, edit: EditLines): Json {
    const lines = edit(z.array(z.string()).parse(JSON.parse(fileOf(documentPath(input['rows'])))))
    const sorted = lines.toSorted()
    const rows_digest = sha256(sorted.join('\n'))
    return { ...input, rows: put(sorted), count: lines.length, rows_digest }
  }

  return {
    fileOf,
    historyOf,
    bundlePath,
    forge,
    /** Serves the published files, except that `forged` replaces some of them. */
    serve: async (forged: ReadonlyMap<string, string> = new Map()): Promise<string> =>
      await serveDuringTest(({ url = '' }, response) => {
        response.setHeader('Content-Type', 'application/json')
        response.end(forged.get(url) ?? fileOf(url))
      }),
    /** The aggregates, answers or lists of a document, edited. */
    edited: (digest: unknown, put: Put, edit: (body: string) => string): string =>
      put(JSON.parse(edit(fileOf(documentPath(digest))))),
    /** Changes the lines of all chunks. */
    editLines: (bundle: Json, put: Put, edit: EditLines): void => {
      bundle['inputs'] = z
        .array(json)
        .parse(bundle['inputs'])
        .map((input) => (input['rows_digest'] === undefined ? input : withLines(input, put, edit)))
    },
    /** Changes the lines of all look-ups that have some. */
    editLookUps: (bundle: Json, put: Put, edit: EditLines): void => {
      const readings = z.array(json).parse(JSON.parse(fileOf(documentPath(bundle['look_ups']))))
      bundle['look_ups'] = put(
        readings.map((one) => (one['count'] === 0 ? one : withLines(one, put, edit))),
      )
    },
  }
}

/** Computes the results of a forged bundle with the code of the ledger. Returns the row of the history. */
function refit(rail: string, bundle: Json, bodyOf: (digest: unknown) => string): Json {
  const adapter = railAdapters.find((one) => one.rail === rail)
  if (adapter === undefined) throw new Error(rail)
  const documents = { get: bodyOf }
  const valueOf = (digest: unknown) => unpack(bodyOf(digest), documents)
  const lists = json.parse(bundle['lists'])
  const lookedUp =
    lists['looked_up'] === undefined ? {} : z.looseObject({}).parse(valueOf(lists['looked_up']))
  const window = windowEndingAt(
    Date.parse(text(z.object({ to: z.string() }).parse(bundle['window']).to)),
  )
  const { measurement, counters } = adapter.recompute(valueOf(bundle['buckets']), lookedUp, window)
  const former = z
    .object({ status: railStatus, undecidedSinceMs: z.number().nullable() })
    .nullable()
    .parse(bundle['former'])
  const never = stateFromAudit({ rail, status: 'pre-traction', asOfMs: 0, figures: {} })
  const past = former === null ? never : { ...never, ...former, figuresSource: 'poll' as const }
  const decided = decidePoll(
    past,
    { kind: 'good', measurement },
    {
      displayName: '',
      basis: z.enum(['payments', 'activity']).parse(bundle['basis']),
      startedAtMs: window.endMs,
      durationMs: 0,
      pollEveryMs: 0,
    },
  )
  const figures = decided.figures ?? unknownFigures
  Object.assign(bundle, {
    figures,
    counters,
    removed: measurement.removed30d,
    status: decided.state.status,
    undecidedSinceMs: decided.state.undecidedSinceMs,
    flags: flagsOf(decided),
  })
  return Object.fromEntries(figureNames.map((name) => [name, publicFigure(figures, name)]))
}

export async function recompute(site: string, ...args: readonly string[]): Promise<CommandResult> {
  return await runCommand(['recompute', ...args, '--site', site], {}, { fetch })
}

/** What failed or could not be checked. */
export function problemsIn(out: string): string {
  return out
    .split('\n')
    .filter((line) => line.startsWith('BAD') || line.startsWith('open'))
    .join('\n')
}
