import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'

import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { documentFile, factsKey } from '../../src/core/documents.ts'
import { newestPublication } from '../../src/db/publications.ts'
import type { Db } from '../../src/db/schema.ts'
import type { PublicDocument } from '../publish/document.ts'
import { jsonIn } from '../publish/past-set.ts'
import type { PublishedFacts } from '../publish/publish.ts'
import type { PublicFiles } from '../publish/store/store.ts'
import { commitMessage, diffMarkdown } from './change-text.ts'
import { changesBetween } from './changes.ts'
import type { Facts } from './facts.ts'

/** Bounds the memory for a file that somebody else wrote. */
const maxOutputLength = 64 * 1024 * 1024
const DIFF_PATH = '/diffs/latest.md'

const changeSchema = z.object({ diff: z.string(), message: z.string() })
const linesSchema = z.tuple([changeSchema], z.tuple([z.string(), z.custom<JsonValue>()]))
export interface LastFacts extends z.infer<typeof changeSchema> {
  readonly facts: Facts
}

export function factsOf(documents: readonly PublicDocument[]): Facts {
  return Object.fromEntries(
    documents.flatMap(({ path, archive }) => (archive === null ? [] : [[path, archive] as const])),
  )
}

/** Facts as pretty-printed JSON with sorted keys. `known` caches texts. */
export function archivedFiles(
  documents: readonly PublicDocument[],
  known: WeakMap<PublicDocument, string> = new WeakMap(),
): Map<string, string> {
  const files = new Map<string, string>()
  for (const document of documents) {
    const { path, contentType, archive } = document
    if (archive === null) continue
    const text =
      typeof archive === 'string' ? archive : (known.get(document) ?? prettySorted(archive))
    known.set(document, text)
    files.set(documentFile(path, contentType), text)
  }
  return files
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

/** The facts of the newest publication, which are stored with it, so that any builder can compare with them. */
export function createLastFacts() {
  let known: { readonly sha256: string; readonly last: LastFacts } | null = null
  let packed = new Map<string, { readonly fact: JsonValue; readonly bytes: Uint8Array }>()
  return {
    /** Null if they cannot be read: the next build then counts as the first. */
    load: async (store: PublicFiles, reader: Db): Promise<LastFacts | null> => {
      const sha256 = (await newestPublication(reader))?.factsSha256 ?? ''
      if (known?.sha256 === sha256) return known.last
      const last = (await readFacts(store, sha256)) ?? (await readLatestFacts(store))
      known = last && { sha256, last }
      return last
    },
    /** The form in which `next` is stored: each line is compressed on its own, and only if it has changed. */
    stored: ({ facts, ...change }: LastFacts): PublishedFacts => {
      const lines = Object.entries(facts).map(([path, fact]) => {
        const before = packed.get(path)
        return [path, before?.fact === fact ? before : { fact, bytes: pack([path, fact]) }] as const
      })
      packed = new Map(lines)
      const bytes = Buffer.concat([pack(change), ...lines.map(([, line]) => line.bytes)])
      return { sha256: sha256Hex(bytes), bytes }
    },
    /** Call after publication. `facts` are those of the build, for comparison by identity. */
    keep: (next: LastFacts, { sha256 }: PublishedFacts, facts: Facts): void => {
      known = { sha256, last: { ...next, facts } }
    },
  }
}

function pack(line: unknown): Uint8Array {
  return gzipSync(`${JSON.stringify(line)}\n`, { level: 1 })
}

async function readFacts(store: PublicFiles, sha256: string): Promise<LastFacts | null> {
  const file = await store.get(factsKey(sha256))
  if (file === null || sha256Hex(file.bytes) !== sha256) return null
  const text = await promisify(gunzip)(file.bytes, { maxOutputLength }).catch(() => null)
  const lines = text?.toString('utf8').trimEnd().split('\n')
  const read = linesSchema.safeParse(lines?.map(jsonIn))
  if (!read.success) return null
  const [change, ...facts] = read.data
  return { ...change, facts: Object.fromEntries(facts) }
}

/** A restored database may name facts that are no longer kept. */
async function readLatestFacts(store: PublicFiles): Promise<LastFacts | null> {
  const files = [...(await store.list('facts/'))].sort(([, left], [, right]) => right - left)
  for (const [key] of files) {
    const last = await readFacts(store, /\/(\w+)\./.exec(key)?.[1] ?? '')
    if (last !== null) return last
  }
  return null
}
