import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { z } from 'zod'

import type { JsonValue } from '../../src/core/canonical-json.ts'
import { replaceFile } from '../../src/files/durable.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { commitMessage, diffMarkdown } from './change-text.ts'
import { changesBetween } from './changes.ts'
import type { PublicDocument } from './document.ts'
import type { Facts } from './facts.ts'
import { readFitting } from './files.ts'

const DIFF_PATH = '/diffs/latest.md'

const lastFactsSchema = z.object({
  facts: z.record(z.string(), z.custom<JsonValue>()),
  diff: z.string(),
  message: z.string(),
})
export type LastFacts = z.infer<typeof lastFactsSchema>

export function factsOf(documents: readonly PublicDocument[]): Facts {
  return Object.fromEntries(
    documents.flatMap(({ path, archive }) => (archive === null ? [] : [[path, archive] as const])),
  )
}

/** Returns `last` itself when no fact changed, so that its texts keep their bytes. */
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

export function diffDocument({ diff }: LastFacts, maxAgeSeconds: number): PublicDocument {
  const contentType = 'text/markdown; charset=utf-8'
  return { path: DIFF_PATH, contentType, maxAgeSeconds, body: { text: diff }, archive: diff }
}

export function lastFactsFile(stateDir: string): string {
  return join(stateDir, 'last-facts.json')
}

export function createLastFacts(stateDir: string) {
  const path = lastFactsFile(stateDir)
  let known: { readonly fingerprint: string; readonly last: LastFacts | null } | null = null
  return {
    load: async (): Promise<LastFacts | null> => {
      const fingerprint = statFingerprint(path)
      if (known?.fingerprint !== fingerprint)
        known = { fingerprint, last: await loadLastFacts(path) }
      return known.last
    },
    /** Writes only a new `next`; `facts` are those of the build, for comparison by identity. */
    keep: async (next: LastFacts, facts: Facts) => {
      if (next !== known?.last) await saveLastFacts(path, next)
      known = { fingerprint: statFingerprint(path), last: { ...next, facts } }
    },
  }
}

/** Null when nothing can be read: the next build then counts as the first. */
export async function loadLastFacts(path: string): Promise<LastFacts | null> {
  return await readFitting(path, lastFactsSchema)
}

export async function saveLastFacts(path: string, last: LastFacts): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await replaceFile(path, JSON.stringify(last), 0o644)
}
