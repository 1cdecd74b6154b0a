import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { asJson } from '../../builder/documents/document.ts'
import type { PublicDocument } from '../../builder/publish/document.ts'
import type { PublishOutcome } from '../../builder/publish/publish.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { createApp } from '../../src/app.ts'
import type { App, AppDeps } from '../../src/app.ts'
import { loadKeys } from '../../src/auth/service-keys.ts'
import type { KeyRing } from '../../src/auth/service-keys.ts'
import { pathOf } from '../../src/contract/routes.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import type { Clock } from '../../src/core/deps.ts'
import { createLog } from '../../src/core/log.ts'
import type { LogLevel } from '../../src/core/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { createDocumentStore } from '../../src/http/document-store.ts'
import type { DocumentStore } from '../../src/http/document-store.ts'
import type { SetSource } from '../../src/http/published-sets.ts'
import { serve } from '../../src/http/serve.ts'
import type { RunningServer } from '../../src/http/serve.ts'
import { testActions } from './actions.ts'
import type { ActionChanges, TestActions } from './actions.ts'
import { expectNoSecrets } from './no-secrets.ts'
import { publishedDirectory } from './published-directory.ts'
import { quietLog } from './quiet-log.ts'

const logLine = z.record(z.string(), z.unknown())

/** Time passes only by `advance`; `sleep` takes real time. */
export interface HandClock extends Clock {
  readonly advance: (deltaMs: number) => void
}

export function handClock(startMs = Date.UTC(2026, 10, 21, 6)): HandClock {
  let passedMs = 0
  return {
    now: () => startMs + passedMs,
    monotonic: () => passedMs,
    sleep: async (delayMs, signal) => {
      await sleep(delayMs, undefined, signal === undefined ? {} : { signal })
    },
    advance: (deltaMs) => {
      passedMs += deltaMs
    },
  }
}

/** A public directory with its own keys, published as the builder does it. */
export interface PublicDir {
  readonly publicKeys: SigningKeys
  readonly ring: KeyRing
  readonly dir: string
  readonly source: SetSource
  readonly database: OpenDatabase
  readonly publish: (
    documents: readonly PublicDocument[],
    nowMs?: number,
  ) => Promise<PublishOutcome>
  readonly remove: () => Promise<void>
}

export async function publicDir(): Promise<PublicDir> {
  const root = await mkdtemp(join(tmpdir(), 'ledger-http-'))
  const dir = join(root, 'public')
  const startMs = Date.UTC(2026, 10, 21, 5, 30, 15, 250)
  const { signer, ring, publicKeys } = await loadKeys({ dir: join(root, 'keys'), nowMs: startMs })
  const { publish, source, database, close } = await publishedDirectory(dir)
  return {
    dir,
    source,
    database,
    publicKeys,
    ring,
    publish: (given, nowMs = startMs) => {
      // The keys of a world are not the keys that sign this set.
      const documents = given.map((document) =>
        document.path === pathOf('getSigningKeys')
          ? { ...document, body: { json: asJson(publicKeys), stamp: null } }
          : document,
      )
      const set = { siteUrl: 'https://ledger.test', documents, assetsDir: null }
      return publish({ ...set, signer, ring, nowMs, log: quietLog })
    },
    remove: async () => {
      await close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

export interface Service {
  readonly server: RunningServer
  readonly address: RunningServer['address']
  readonly url: string
  readonly app: App
  readonly store: DocumentStore
  readonly clock: HandClock
  readonly lines: () => Record<string, unknown>[]
  readonly views: string[]
  readonly actions: TestActions
  readonly stop: () => Promise<void>
}

/** Starts the whole service on a free port with the documents of `dir`. */
export async function startService(
  dir: string,
  options: Partial<Omit<AppDeps, 'log' | 'actions' | 'clock' | 'endpoints'>> & {
    readonly actions?: ActionChanges
    readonly clock?: HandClock
    /** Path of a database that remains after `stop`. */
    readonly databasePath?: string
    readonly level?: LogLevel
    readonly endpoints?: (actions: InstalledDeps) => AppDeps['endpoints']
    /** Adds routes before the server starts. */
    readonly extend?: (app: App) => void
  } = {},
): Promise<Service> {
  const { level = 'info', extend, endpoints, clock = handClock(), databasePath, ...given } = options
  let text = ''
  const log = createLog({
    level,
    now: clock.now,
    write: (lines) => {
      text += lines
    },
    defer: (flush) => flush(),
  })
  const published = await publishedDirectory(dir)
  const store = createDocumentStore({ source: published.source, clock, log })
  await store.reload()
  const views: string[] = []
  const actions = await testActions({ clock, log, databasePath, changes: given.actions })
  const app = createApp({
    log,
    store,
    limits: 'off',
    trustedProxies: [],
    health: () => Promise.resolve({ statusCode: 200, body: { status: 'ok' } }),
    obstacles: () => Promise.resolve([]),
    countView: (slug) => {
      views.push(slug)
    },
    ...given,
    actions,
    endpoints: endpoints?.(actions) ?? [],
  })
  extend?.(app)
  await app.counters.load()
  const server = await serve(app.listener, { host: '127.0.0.1', port: 0, clock, ...app })
  const { address } = server
  return {
    server,
    address,
    url: `http://127.0.0.1:${address.port}`,
    app,
    store,
    clock,
    lines: () => {
      log.flush()
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => logLine.parse(JSON.parse(line)))
    },
    views,
    actions,
    stop: async () => {
      await server.close(1000)
      await app.counters.flush()
      await actions.close()
      await published.close()
      log.flush()
      expectNoSecrets(text)
    },
  }
}

export function jsonDocument(path: string, json: JsonValue, maxAgeSeconds = 60): PublicDocument {
  const body = { json, stamp: null }
  return { path, contentType: 'application/json', maxAgeSeconds, body, archive: null }
}

function textDocument(path: string, text: string, contentType: string): PublicDocument {
  return { path, contentType, maxAgeSeconds: 300, body: { text }, archive: null }
}

/** A small published set: a compressible list, a rail, an article and a page. */
export const sampleDocuments: readonly PublicDocument[] = [
  jsonDocument('/api/v1/rails', {
    count: 60,
    rails: Array.from({ length: 60 }, (_, at) => ({ rail: `rail-${at}`, status: 'paying' })),
  }),
  jsonDocument('/api/v1/rails/x402', { rail: 'x402' }),
  jsonDocument('/api/v1/skills/technical-writing', { slug: 'technical-writing' }, 300),
  jsonDocument('/api/v1/stats/live', { rails_total: 60 }, 5),
  textDocument('/desk/weekly-47.md', '# Week 47\n'.repeat(40), 'text/markdown; charset=utf-8'),
  textDocument('/desk/SKILL.md', '# Desk\n', 'text/markdown; charset=utf-8'),
  textDocument('/', '<!doctype html><title>Ledger</title>', 'text/html; charset=utf-8'),
]
