/** The tables of the export: rows and columns of the lists of the API, whose schemas describe the columns. */
import { z } from 'zod'

import { isObject } from '../../src/contract/openapi/json.ts'
import { schemaOf } from '../../src/contract/openapi/schemas.ts'
import { pathOf } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { railSlug, time } from '../../src/contract/schemas/common.ts'
import { article } from '../../src/contract/schemas/desk.ts'
import { dispute } from '../../src/contract/schemas/dispute.ts'
import { flag } from '../../src/contract/schemas/flag.ts'
import { job } from '../../src/contract/schemas/job.ts'
import { opportunity } from '../../src/contract/schemas/opportunity.ts'
import { inFlightPact, recordedPact, settledPact } from '../../src/contract/schemas/pact.ts'
import { oath, partner, tier } from '../../src/contract/schemas/partner.ts'
import { listedPlatform } from '../../src/contract/schemas/platform.ts'
import {
  auditClaim,
  auditFigures,
  rail,
  railPoll,
  railStatus,
} from '../../src/contract/schemas/rail.ts'
import { receipt } from '../../src/contract/schemas/receipt.ts'
import { skill } from '../../src/contract/schemas/skill.ts'
import { statementList } from '../../src/contract/schemas/statement.ts'
import { leaderboardEntry, worker } from '../../src/contract/schemas/worker.ts'
import { isJsonObject } from '../../src/core/canonical-json.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { disputeViews, disputeRows } from '../../src/db/disputes.ts'
import { eventsSince } from '../../src/db/events.ts'
import { flagView, listClosedFlags } from '../../src/db/flags.ts'
import { listStatements } from '../../src/db/income.ts'
import { jobRows } from '../../src/db/jobs/jobs.ts'
import { jobView } from '../../src/db/jobs/view.ts'
import type { RowList } from '../../src/db/list-queries.ts'
import { partnerRows } from '../../src/db/partners.ts'
import { receiptRows, receiptView } from '../../src/db/receipts/receipts.ts'
import type { Db } from '../../src/db/schema.ts'
import { workerRows } from '../../src/db/workers.ts'
import { pollView } from '../documents/history.ts'
import { createSnapshots } from '../documents/index.ts'
import type { World } from '../world/world.ts'

/** The columns, and the rows in groups, so that no large table must be in memory. */
export type ExportTable = readonly [
  columns: z.ZodObject,
  groups: Iterable<readonly object[]> | AsyncIterable<readonly object[]>,
]

const ofRail = z.object({ rail: railSlug })
const claim = ofRail.extend(auditClaim.shape)
const audited = ofRail.extend({
  figure: auditClaim.shape.figure,
  ...auditFigures.shape.payouts_30d.unwrap().shape,
  value: z.number(),
})
const poll = ofRail.extend(railPoll.shape)
const statusChange = ofRail.extend({ from: railStatus, to: railStatus, created_at: time })
const { wallet, statements } = statementList.shape
const statement = z.object({ wallet }).extend(statements.element.shape)
const pact = recordedPact.extend(inFlightPact.shape).extend(settledPact.shape)

const groupSize = 500
const all = Number.MAX_SAFE_INTEGER

export async function exportTables(
  world: World,
  db: Db,
  nowMs: number,
): Promise<Readonly<Record<string, ExportTable>>> {
  const at = { siteUrl: world.site.url, nowMs }
  const documents = new Map(createSnapshots()(world).map(({ path, body }) => [path, body]))
  const published = (id: RouteId, member: string) => {
    const body = documents.get(pathOf(id))
    const list =
      body !== undefined && 'json' in body && isJsonObject(body.json) && body.json[member]
    return z.array(z.looseObject({})).parse(list)
  }
  const audits = world.rails.map(({ authored: { rail, audit } }) => ({ rail, ...audit }))
  const figures = audits.flatMap(({ rail, figures }) =>
    entriesOf(figures).map(([figure, counted]) => ({ rail, figure, ...counted })),
  )
  const claims = audits.flatMap(({ rail, claims = [] }) => claims.map((one) => ({ rail, ...one })))
  // A flag may have closed since the world was gathered.
  const open = new Set(world.openFlags.map(({ id }) => id))
  const closed = (await listClosedFlags(db, all)).filter(({ id }) => !open.has(id))
  return {
    rails: [rail, [published('listRails', 'rails')]],
    audit_figures: [audited, [figures]],
    audit_claims: [claim, [claims]],
    polls: [poll, polls(world)],
    status_changes: [statusChange, statusChanges(db)],
    flags: [flag, [world.openFlags, closed.map(flagView)]],
    opportunities: [opportunity, [published('listOpportunities', 'opportunities')]],
    skills: [skill, [published('listSkills', 'skills')]],
    pacts: [
      pact,
      ['settled', 'in_flight', 'recorded'].map((state) => published('listPacts', state)),
    ],
    articles: [article, [published('getDeskFeed', 'articles')]],
    tiers: [tier, [published('listTiers', 'tiers')]],
    oaths: [oath, [published('listOaths', 'oaths')]],
    platforms: [listedPlatform, [published('listPlatforms', 'platforms')]],
    receipts: [
      receipt.omit({ content: true }),
      newestFirst(db, receiptRows(), (rows) => rows.map((row) => receiptView(row, at.siteUrl))),
    ],
    statements: [statement, statementRows(db, at.siteUrl)],
    workers: [worker, newestFirst(db, workerRows(), (rows) => rows.map((row) => row.worker))],
    // The reputation of other wallets is a paid read.
    leaderboard: [leaderboardEntry, [published('getLeaderboard', 'leaderboard')]],
    partners: [partner, newestFirst(db, partnerRows, (rows) => rows.map((row) => row.partner))],
    jobs: [job, newestFirst(db, jobRows(nowMs), (rows) => rows.map((row) => jobView(row, at)))],
    disputes: [dispute, newestFirst(db, disputeRows(), (rows) => disputeViews(db, rows, nowMs))],
  }
}

/** Booleans are 0 or 1 in SQLite; lists and objects are JSON. */
const sqlTypes = new Map([
  ['integer', 'integer'],
  ['boolean', 'integer'],
  ['number', 'real'],
])

export function columnsOf(table: z.ZodObject) {
  // A named schema would be a reference.
  const schema = schemaOf(z.object(table.shape))
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  return Object.entries(properties).map(([name, property]) => {
    const { type = '', description = '' } = z
      .looseObject({ type: z.string().optional(), description: z.string().optional() })
      .parse(property)
    return { name, type: sqlTypes.get(type) ?? 'text', meaning: description }
  })
}

function* polls({ history }: Pick<World, 'history'>) {
  for (const [rail, polls] of history) yield polls.map((poll) => ({ rail, ...pollView(poll) }))
}

async function* statusChanges(db: Db) {
  const readPage = (last?: { readonly seq: number }) =>
    eventsSince(db, { seq: last?.seq ?? 0 }, groupSize)
  for await (const events of pages(readPage)) {
    yield events
      .filter(({ kind }) => kind === 'rail_transition')
      .map(({ rail, data, createdAt }) => ({ ...data, rail, created_at: createdAt }))
  }
}

async function* statementRows(db: Db, siteUrl: string) {
  const readPage = (last = { wallet: '', month: '' }) => listStatements(db, last, groupSize)
  for await (const rows of pages(readPage)) {
    yield rows.map((row) => {
      const place = { wallet: parseWallet(row.wallet).display, month: row.month }
      return { ...row, ...place, url: `${siteUrl}${pathOf('getStatement', place)}` }
    })
  }
}

async function* newestFirst<Row extends { readonly seq: number }>(
  db: Db,
  list: RowList<Row>,
  show: (rows: readonly Row[]) => readonly object[] | Promise<readonly object[]>,
) {
  const readPage = (last?: Row) => list.read(db, { limit: groupSize, before: last?.seq ?? all })
  for await (const rows of pages(readPage)) yield await show(rows)
}

/** @param read reads the rows after the last one of the page before */
async function* pages<Row>(read: (last?: Row) => Promise<readonly Row[]>) {
  for (let last: Row | undefined; ;) {
    const rows = await read(last)
    yield rows
    last = rows.at(-1)
    if (rows.length < groupSize) return
  }
}
