import { isDeepStrictEqual } from 'node:util'

import { issuerOf } from '../../src/auth/exchange-keys.ts'
import type { ExchangeKeys } from '../../src/auth/exchange-keys.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { withSiteUrl } from '../../src/core/site-url.ts'
import { isoTime, dayMs, hourOf, minuteMs } from '../../src/core/time.ts'
import { eventsSince } from '../../src/db/events.ts'
import type { EventRecord } from '../../src/db/events.ts'
import { flagView, listClosedFlags, listOpenFlags } from '../../src/db/flags.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { loadBackfills, loadRailStates } from '../../src/db/polls.ts'
import { lastRuns } from '../../src/db/runs.ts'
import { viewsSince } from '../../src/db/views.ts'
import type { AnyRailAdapter } from '../rails/adapter.ts'
import { createAuthored } from './authored.ts'
import { gatherCommunity } from './community.ts'
import type { CommunityMemory } from './community.ts'
import { lastExport } from './exported.ts'
import type { History } from './history.ts'
import { gatherDisputes, gatherExchange } from './lists.ts'
import { gatherPacts } from './pacts.ts'
import { lastReceiptRun } from './receipt-run.ts'
import { gatherPlatforms, withAcceptedSkills } from './registries.ts'
import { stateOf } from './stored-rails.ts'
import type { LedgerEvent, RailRecord, World } from './world.ts'

export interface GatherOptions {
  readonly database: OpenDatabase
  readonly history: () => Promise<History>
  readonly dataDir: string
  readonly adapters: readonly AnyRailAdapter[]
  readonly site: World['site']
  readonly pollEveryMs: number
  readonly publicKeys: SigningKeys
  /** Read for every build, since keys may have been rotated. */
  readonly exchangeKeys: () => Promise<ExchangeKeys>
  readonly nowMs: number
  readonly memory?: GatherMemory
}

/** Keeps unchanged parts of the world identical from build to build. */
interface GatherMemory extends CommunityMemory {
  readonly authored: ReturnType<typeof createAuthored>
  parts: World | null
}

export function emptyGatherMemory(dataDir: string): GatherMemory {
  return { authored: createAuthored(dataDir), parts: null, receipts: null }
}

/** The time of the world advances in steps, so that ages alone rarely change documents. */
const worldStepMs = 10 * minuteMs
const viewHours = 24
const eventsMs = 373 * dayMs
const eventsLimit = 100_000
const closedFlagsLimit = 500

/** Each read sees one state of the database. @throws StoredStateError when stored data cannot be read */
export async function gatherWorld(options: GatherOptions): Promise<World> {
  const { database, nowMs, adapters, memory = emptyGatherMemory(options.dataDir) } = options
  const { reader } = database
  const from = isoTime(nowMs - eventsMs)
  const at = { siteUrl: options.site.url, nowMs }
  // Awaited before the reads start, since a read that fails during this wait would be an unhandled rejection.
  const exchangeKeys = await options.exchangeKeys()
  const [
    authored,
    states,
    backfills,
    history,
    flags,
    closed,
    eventRows,
    views24h,
    community,
    exchange,
    runs,
  ] = await Promise.all([
    memory.authored(),
    loadRailStates(reader),
    loadBackfills(reader),
    options.history(),
    listOpenFlags(reader),
    listClosedFlags(reader, closedFlagsLimit),
    eventsSince(reader, { time: from }, eventsLimit),
    viewsSince(reader, hourOf(nowMs) - viewHours + 1),
    gatherCommunity(database, at, memory),
    gatherExchange(database, { ...at, receiptsBy: issuerOf(exchangeKeys) }),
    lastRuns(reader),
  ])
  const rules = new Map(adapters.map(({ rail, rule }) => [rail, rule]))
  const { rails: authoredRails, pacts, ...asAuthored } = authored
  const rails = authoredRails.map((rail): RailRecord => ({
    authored: { ...rail, reference_url: withSiteUrl(rail.reference_url, options.site.url) },
    state: stateOf(rail, states.get(rail.rail)),
    rule: rules.get(rail.rail) ?? null,
    evidence: history.evidence.get(rail.rail) ?? [],
    backfill: backfills.get(rail.rail) ?? null,
  }))
  const world: World = {
    ...asAuthored,
    nowMs: Math.floor(nowMs / worldStepMs) * worldStepMs,
    site: options.site,
    pollEveryMs: options.pollEveryMs,
    rails,
    history: history.polls,
    openFlags: flags.map(flagView),
    closedFlags: closed.map(flagView),
    events: eventRows.map(eventOf),
    taxonomy: {
      ...authored.taxonomy,
      skills: await withAcceptedSkills(reader, authored.taxonomy.skills),
    },
    views24h,
    runs: [...runs.values()],
    receiptRun: await lastReceiptRun(database),
    platforms: await gatherPlatforms(reader, authored.platforms),
    signingKeys: { keys: options.publicKeys.keys.map((key) => ({ ...key })) },
    community,
    exchange,
    disputes: await gatherDisputes(database, nowMs),
    exported: await lastExport(reader),
    pacts: await gatherPacts(reader, pacts, at),
  }
  memory.parts = withSameParts(world, memory.parts)
  return memory.parts
}

function withSameParts(world: World, before: World | null): World {
  if (before === null) return world
  // The history is a new value only after new polls; events are append-only.
  const { history, events, ...others } = world
  const parts = entriesOf(others).map(([part, value]) => [part, same(before[part], value)] as const)
  const isGrown =
    events.length !== before.events.length ||
    events[0]?.seq !== before.events[0]?.seq ||
    events.at(-1)?.seq !== before.events.at(-1)?.seq
  return {
    ...world,
    ...Object.fromEntries(parts),
    history,
    events: isGrown ? events : before.events,
  }
}

function same<T>(before: T, now: T): T {
  return isDeepStrictEqual(before, now) ? before : now
}

function eventOf(row: EventRecord): LedgerEvent {
  return {
    seq: row.seq,
    kind: eventKind(row.kind),
    rail: row.rail,
    title: row.title,
    data: row.data,
    createdAtMs: Date.parse(row.createdAt),
  }
}

function eventKind(kind: string): LedgerEvent['kind'] {
  if (kind === 'flag_opened' || kind === 'flag_closed' || kind === 'rail_transition') return kind
  throw new Error(`an event of unknown kind ${kind} is stored`)
}
