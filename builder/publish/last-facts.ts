/**
 * The archived facts of one build, kept so that the next one can say what moved. In a build:
 *
 *     const facts = factsOf(documents)
 *     const next = nextFacts(await store.load(), facts)
 *     const all = [...documents, diffDocument(next, 60)]
 *     await publish({ documents: all, … })
 *     await store.keep(next, facts)
 *     await archive({ files: archiveFiles(all), message: next.message, … })
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { z } from 'zod'

import type { JsonValue } from '../../src/core/canonical-json.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { changesBetween } from './changes.ts'
import { diffMarkdown } from './diff.ts'
import type { PublicDocument } from './document.ts'
import type { Facts } from './facts.ts'
import { readIfExists, replaceFile } from './files.ts'
import { commitMessage } from './summary.ts'

const DIFF_PATH = '/diffs/latest.md'

/** The facts of the last build that changed some, and what it said of the change. */
export interface LastFacts {
  readonly facts: Facts
  /** Markdown, published at `DIFF_PATH`. */
  readonly diff: string
  /** Commit message: subject, empty line, body. */
  readonly message: string
}

/** The facts of documents that are archived. */
export function factsOf(documents: readonly PublicDocument[]): Facts {
  return Object.fromEntries(
    documents.flatMap(({ path, archive }) => (archive === null ? [] : [[path, archive] as const])),
  )
}

/**
 * What a build says of itself. Where no fact changed, the last build that changed some goes on being
 * the last, so its diff keeps its bytes. No time stands in it: a build repeated after a crash says
 * the same again.
 */
export function nextFacts(last: LastFacts | null, facts: Facts): LastFacts {
  const changes = changesBetween(last?.facts ?? {}, facts)
  if (last !== null && changes.length === 0) return last
  const first = last === null
  return {
    facts,
    diff: diffMarkdown(changes, { first }),
    message: commitMessage(changes, { first }),
  }
}

/** The diff as a document of its own. It is in the archive, but is no fact. */
export function diffDocument(last: LastFacts, maxAgeSeconds: number): PublicDocument {
  return {
    path: DIFF_PATH,
    contentType: 'text/markdown; charset=utf-8',
    maxAgeSeconds,
    body: { text: last.diff },
    archive: last.diff,
  }
}

const lastFactsSchema = z.object({
  facts: z.record(z.string(), z.custom<JsonValue>()),
  diff: z.string(),
  message: z.string(),
})

/** The facts of the last build as a file of the state directory, read again only where another process wrote it. */
export interface LastFactsStore {
  readonly load: () => Promise<LastFacts | null>
  /**
   * Call it after publishing. Writes only where `next` is not what was loaded; `facts` are those of the build, which are
   * then equal to those that were loaded, and the same values in the next build.
   */
  readonly keep: (next: LastFacts, facts: Facts) => Promise<void>
}

export function createLastFacts(stateDir: string): LastFactsStore {
  const path = join(stateDir, 'last-facts.json')
  let known: { readonly marks: string; readonly last: LastFacts | null } | null = null
  return {
    load: async () => {
      const marks = statFingerprint(path)
      if (known?.marks !== marks) known = { marks, last: await loadLastFacts(path) }
      return known.last
    },
    keep: async (next, facts) => {
      if (next !== known?.last) await saveLastFacts(path, next)
      known = { marks: statFingerprint(path), last: { ...next, facts } }
    },
  }
}

/** Null where nothing was kept, or where it cannot be read: what moved is then told as a first build. */
export async function loadLastFacts(path: string): Promise<LastFacts | null> {
  const bytes = await readIfExists(path)
  if (bytes === null) return null
  try {
    return lastFactsSchema.parse(JSON.parse(bytes.toString('utf8')))
  } catch {
    return null
  }
}

/** Keeps the facts for the next build; call it after publishing, and only where they are others. */
export async function saveLastFacts(path: string, last: LastFacts): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const { facts, diff, message } = last
  // Read by nobody but this file, so any form of JSON will do, and the engine's own takes a third of the time.
  await replaceFile(path, Buffer.from(JSON.stringify({ facts, diff, message }), 'utf8'), 0o644)
}
