/** A ledger on disk: its folders, the compiled program that runs on them, and its published documents. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

import { afterAll, expect } from 'vitest'

import { health } from '../../src/contract/schemas/service.ts'
import { encodedFile, manifestSchema } from '../../src/core/documents.ts'
import type { Manifest } from '../../src/core/documents.ts'
import { eventsSince } from '../../src/db/events.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { filesBelow } from '../../src/files/readable-files.ts'
import { createDocumentStore } from '../../src/http/document-store.ts'
import type { DocumentStore } from '../../src/http/document-store.ts'
import { createSetSource } from '../../src/http/published-sets.ts'
import { installProgram, run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'
import { quietLog } from '../support/quiet-log.ts'

interface StartedService {
  readonly service: Running
  readonly url: string
}

export interface Ledger {
  readonly dataDir: string
  readonly publicDir: string
  readonly env: Readonly<Record<string, string>>
  readonly builder: (args: readonly string[], env?: Readonly<Record<string, string>>) => Running
  readonly service: (env?: Readonly<Record<string, string>>) => Running
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<StartedService>
  /** A file of the set that plain web servers show. */
  readonly document: (file: string) => unknown
  readonly manifest: () => Manifest
  readonly git: (...args: string[]) => string
  readonly withDatabase: <Answer>(look: (db: OpenDatabase) => Promise<Answer>) => Promise<Answer>
  readonly remove: () => void
}

/** Installs the program for the tests of the calling file and removes it after them. */
export function useProgram(install: () => Program = installProgram): Program {
  const program = install()
  afterAll(program.remove)
  return program
}

export async function stop(running: Running): Promise<void> {
  running.kill('SIGTERM')
  expect(await running.ended).toBe(0)
}

/** @param places existing folders; by default new ones, which `remove` deletes */
export function newLedger(
  program: Program,
  settings: Readonly<Record<string, string>>,
  places: { readonly dataDir?: string; readonly publicDir?: string } = {},
): Ledger {
  const root = mkdtempSync(join(tmpdir(), 'ledger-e2e-'))
  const { dataDir = join(root, 'data'), publicDir = join(root, 'public') } = places
  // Speeds up repeated starts; ignored by versions of Node without a compile cache.
  const cache = { NODE_COMPILE_CACHE: join(program.dir, 'compile-cache') }
  const env = { ...cache, ...settings, DATA_DIR: dataDir, PUBLIC_DIR: publicDir }
  const read = (file: string): unknown =>
    JSON.parse(readFileSync(join(publicDir, 'current', file), 'utf8'))
  const start = (more: Readonly<Record<string, string>> = {}) =>
    run(program.service, [], { ...env, PORT: '0', LIMITS: 'off', ...more })
  return {
    dataDir,
    publicDir,
    env,
    builder: (args, more = {}) => run(program.builder, args, { ...env, ...more }),
    service: start,
    start: async (more) => {
      const service = start(more)
      return { service, url: await addressOf(service) }
    },
    document: read,
    manifest: () => manifestSchema.parse(read('snapshot.json')),
    git: (...args) =>
      execFileSync('git', [`--git-dir=${join(dataDir, 'snapshots.git')}`, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    withDatabase: async (look) => {
      const { DATABASE_URL: url = join(dataDir, 'ledger.db') } = settings
      const database = await openDatabase({ url })
      try {
        return await look(database)
      } finally {
        await database.close()
      }
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The setting that loads compiled hooks before the program. */
export function withHooks(program: Program, ...hooks: readonly string[]): { NODE_OPTIONS: string } {
  const urls = hooks.map((hook) => pathToFileURL(program.scriptOf(hook)))
  return { NODE_OPTIONS: urls.map(({ href }) => `--import=${href}`).join(' ') }
}

export async function addressOf(service: Running): Promise<string> {
  await service.says('"message":"listening"')
  const port = /"message":"listening".*?"port":(\d+)/.exec(service.output())?.[1]
  return `http://127.0.0.1:${port}`
}

export function copyOf(program: Program, from: Ledger): Ledger {
  const ledger = newLedger(program, { POLL: 'off' })
  // Keeps hard links.
  for (const dir of ['dataDir', 'publicDir'] as const) {
    execFileSync('cp', ['-a', from[dir], ledger[dir]])
  }
  return ledger
}

/** What the service serves of the newest publication. */
export async function servedSet({
  publicDir,
  withDatabase,
}: Pick<Ledger, 'publicDir' | 'withDatabase'>): Promise<DocumentStore> {
  return await withDatabase(async ({ reader }) => {
    const store = createDocumentStore({
      source: createSetSource(filesBelow(publicDir), reader),
      clock: { monotonic: () => 0, sleep: async (ms) => await delay(ms) },
      log: quietLog,
    })
    await store.reload()
    return store
  })
}

/** Operations that `kill-hook` counts between the row of a set, which a new builder publishes, and the rename to `current`. */
export function linkOperations({ publicDir }: Ledger): number {
  const entries = readdirSync(join(publicDir, 'current/'), { recursive: true, withFileTypes: true })
  const directories = entries.filter((entry) => entry.isDirectory()).length
  // Each file is linked, each directory made and flushed, and seven operations concern the view and the link.
  return entries.length + directories + 7
}

const layout = ['current', 'drafts', 'evidence', 'export', 'facts', 'g', 'log', 'o', 'views']

/** Files of PUBLIC_DIR that no publication needs. */
export function leftoversOf({ publicDir }: Ledger): readonly string[] {
  const names = readdirSync(publicDir).filter((name) => !layout.includes(name))
  const drafts = readdirSync(join(publicDir, 'drafts'), { recursive: true, encoding: 'utf8' })
  return [...names, ...drafts.filter((name) => name.includes('/'))]
}

export async function healthOf(url: string) {
  const answer = await fetch(`${url}/api/v1/health`)
  return { code: answer.status, ...health.parse(await answer.json()) }
}

/** The part of a health answer that shows no problem and a good build. */
export const sound = { status: 'ok', problems: [], jobs: { build: { outcome: 'ok' } } }

/** Expects that a published document and a query of the database are answered. */
export async function expectReads(url: string): Promise<void> {
  for (const path of ['/api/v1/rails', '/api/v1/receipts?rail=x402&limit=5']) {
    const answer = await fetch(url + path)
    await answer.arrayBuffer()
    expect(answer.status, path).toBe(200)
  }
}

/** The process id of the last builder that the service has started with `pid-hook`. */
export function builderPid(service: Running): number {
  const started = [...service.output().matchAll(/builder\/main\.js runs as process (\d+)/g)]
  return Number(started.at(-1)?.[1])
}

/** Every recorded event: kind, rail, kind of flag and title. */
export async function recordedEvents(ledger: Ledger): Promise<readonly string[]> {
  return await ledger.withDatabase(async ({ reader }) => {
    const events = await eventsSince(reader, { seq: 0 }, 10_000)
    return events.map(
      ({ kind, rail, title, data }) =>
        `${kind} ${rail} ${JSON.stringify(data['flag_kind'])} ${title}`,
    )
  })
}

/** Inode and times of every file below a folder, which change with any write. */
export function inventory(folder: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const path = join(entry.parentPath, entry.name)
    const { ino, mtimeMs, ctimeMs } = lstatSync(path)
    files.set(path, `${ino} ${mtimeMs} ${ctimeMs}`)
  }
  return files
}

const evidenceUri = /\/evidence\/([0-9a-f]{64})\.json/g

/** Files that plain web servers show and that differ from the manifest or are not in it, and evidence of it that is wrong. */
export function problemsOfSet({ publicDir, manifest }: Ledger): readonly string[] {
  const current = join(publicDir, 'current')
  const problems: string[] = []
  const named = new Set(['snapshot.json', 'snapshot.json.br', 'snapshot.json.gz'])
  const check = (file: string, expected: { readonly sha256: string; readonly size: number }) => {
    named.add(file)
    const bytes = readFileSync(join(current, file))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    if (sha256 !== expected.sha256 || bytes.length !== expected.size) problems.push(file)
  }
  for (const { file, sha256, size, encodings } of manifest().documents) {
    check(file, { sha256, size })
    for (const encoding of ['br', 'gzip'] as const) {
      const form = encodings[encoding]
      if (form !== undefined) check(encodedFile(file, encoding), form)
    }
    // Evidence is durable before a document names it.
    if (!/^api\/v1\/rails\/\w+(?:\/history)?\.json$/.test(file)) continue
    for (const [path, hash] of readFileSync(join(current, file), 'utf8').matchAll(evidenceUri)) {
      const bytes = readFileSync(join(publicDir, path))
      if (createHash('sha256').update(bytes).digest('hex') !== hash) problems.push(path)
    }
  }
  for (const entry of readdirSync(current, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const file = join(entry.parentPath, entry.name).slice(current.length + 1)
    if (!named.has(file) && !file.startsWith('snapshot.json')) problems.push(`${file} is not named`)
  }
  return problems
}
