import { join } from 'node:path'

import { z } from 'zod'

import { blobName, headOf, treeOf } from '../../../../builder/archive/git-tree.ts'
import { GitError, GitMissingError, runGit } from '../../../../builder/archive/git.ts'
import type { Git } from '../../../../builder/archive/git.ts'
import { readKeys } from '../../../../src/auth/service-keys.ts'
import { readAnswer } from '../../../../src/client/call.ts'
import { pathOf } from '../../../../src/contract/routes.ts'
import type { RouteId } from '../../../../src/contract/routes.ts'
import { isJsonObject, prettySorted } from '../../../../src/core/canonical-json.ts'
import type { ManifestEntry } from '../../../../src/core/documents.ts'
import { toUsdc } from '../../../../src/core/money.ts'
import { scoreAt } from '../../../../src/core/reputation/standing.ts'
import { isoTime, minuteMs } from '../../../../src/core/time.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'
import { newestPublication } from '../../../../src/db/publications.ts'
import { findReceipt } from '../../../../src/db/receipts/receipts.ts'
import { countRows } from '../../../../src/db/records.ts'
import { openPublication, readManifest, verifyAlone } from '../../published-set.ts'
import type { PublishedSet } from '../../published-set.ts'
import { bad, good } from './check.ts'
import type { DoctorCheck, DoctorContext, DoctorResult } from './check.ts'

export const publishedChecks: readonly DoctorCheck[] = [
  {
    what: 'published set',
    remedy:
      'The next build writes missing and damaged files again; the service continues to serve the set in its memory. If this remains, the `build` job gives the reason (here and in /api/v1/health).',
    mayChange: true,
    run: async (context) => {
      if (context.database === null) return null
      const set = await openNewest(context)
      if (set === null) return bad('nothing is published yet')
      const checks = await verifyAlone(set)
      const broken = checks.find((one) => !one.good)
      return broken === undefined
        ? good(`${checks.length - 2} documents, each with a valid signature`)
        : bad(`${broken.what}: ${broken.detail}`)
    },
  },
  {
    what: 'published keys',
    remedy:
      'A build publishes the keys. After a rotation, wait a minute; then restart the builder. A published key that is unknown here means that DATA_DIR/keys was lost or replaced: restore it from its backup.',
    mayChange: true,
    run: async (context) => {
      const set = await readSet(context)
      const dir = join(context.config.DATA_DIR, 'keys')
      const keys = await readKeys(dir).catch(() => null)
      if (set === null || keys === null) return null
      const published = kidsOf((await set.answer('getSigningKeys')).keys)
      const stored = kidsOf(keys.publicKeys.keys)
      return published === stored
        ? good(`${keys.publicKeys.keys.length} keys, the same as in DATA_DIR/keys`)
        : bad(`published: ${published}; in DATA_DIR/keys: ${stored}`)
    },
  },
  {
    what: 'documents against rows',
    remedy:
      'The published documents differ from the rows. After a restore the next build corrects them. Otherwise rows were changed by hand or lost: set `BUILDER=off` and compare the rows with a backup before the next build.',
    mayChange: true,
    run: async (context) => {
      const set = await readSet(context)
      if (set === null || context.database === null) return null
      const differences = await rowDifferences(set, context.database)
      return differences.length === 0
        ? good('receipts, workers and the leaderboard agree with the rows')
        : bad(differences.slice(0, 5).join('; '))
    },
  },
  {
    what: 'snapshot repository',
    remedy:
      'Publishing continues without it. Stop the builder, rename DATA_DIR/snapshots.git and start the builder again: it continues the history of the remote, or begins a new one. Keep the broken repository, since its reflog, `git fsck` and a clone may recover its history.',
    mayChange: true,
    run: async (context) => {
      const git = gitOf(context)
      try {
        const head = await headOf(git)
        if (head === null) return bad('main has no commit')
        await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
        return good(`every object is readable; the last commit is ${head.slice(0, 12)}`)
      } catch (error) {
        if (error instanceof GitMissingError) return good('git is not installed')
        if (error instanceof GitError) return bad(error.message)
        throw error
      }
    },
  },
  {
    what: 'snapshots against documents',
    remedy:
      'The last commit differs from the published set. The next build commits the difference; if it remains, the `build` job gives the reason (here and in /api/v1/health).',
    mayChange: true,
    run: async (context) => {
      const set = await readSet(context)
      if (set === null) return null
      const git = gitOf(context)
      try {
        const head = await headOf(git)
        return head === null ? null : await compareTree(set, await treeOf(git, head))
      } catch (error) {
        if (error instanceof GitMissingError || error instanceof GitError) return null
        throw error
      }
    },
  },
]

/** A kid is the hash of its public key. */
function kidsOf(keys: readonly { readonly kid: string; readonly status: string }[]): string {
  return keys.map(({ kid, status }) => `${kid} (${status})`).join(', ')
}

/** Null if nothing is published, or the database cannot be read. */
async function openNewest({ files, database }: DoctorContext): Promise<PublishedSet | null> {
  const newest = database && (await newestPublication(database.reader))
  return newest && openPublication(files, newest)
}

/** Null if there is no readable set. Later publications do not change the result. */
async function readSet(context: DoctorContext) {
  const set = await openNewest(context)
  if (set === null) return null
  const manifest = await readManifest(set).catch(() => null)
  if (manifest === null) return null
  const bytes = async (entry: ManifestEntry) => Buffer.from((await set.document(entry)) ?? '')
  const answer = async <Id extends RouteId>(id: Id) => {
    const entry = manifest.documents.find(({ path }) => path === pathOf(id))
    if (entry === undefined) throw new Error(`${pathOf(id)} is not published`)
    return readAnswer(id, { status: 200, headers: new Headers(), bytes: await bytes(entry) })
  }
  return { manifest, bytes, answer }
}

type ReadableSet = NonNullable<Awaited<ReturnType<typeof readSet>>>

/** Maximum time that a transaction takes from its timestamp to its commit. */
const SLACK_MS = 5 * minuteMs

/** Rows may be newer than the set but never older: each published item must have a row with the same figures. */
async function rowDifferences(
  { manifest, answer }: ReadableSet,
  { reader }: OpenDatabase,
): Promise<readonly string[]> {
  const receipts = await answer('listReceipts')
  const workers = await answer('listWorkers')
  const { as_of: asOf, leaderboard } = await answer('getLeaderboard')
  const newerThan = isoTime(Date.parse(manifest.computed_at) - SLACK_MS)
  const differences: string[] = []
  for (const shown of receipts.receipts) {
    const row = await findReceipt(reader, shown.receipt_id)
    const isSame =
      row?.rail === shown.rail &&
      row.toDisplay === shown.to_wallet &&
      toUsdc(row.amountMicroUsdc) === shown.amount_usdc &&
      row.acceptedAt === shown.accepted_at
    const problem = row === null ? 'has no row' : 'has another row'
    if (!isSame) differences.push(`receipt ${shown.receipt_id} ${problem}`)
  }
  for (const [what, published, rows] of [
    ['receipts', receipts.total, await countRows(reader.selectFrom('receipts'))],
    ['workers', workers.total, await countRows(reader.selectFrom('workers'))],
  ] as const) {
    if (published > rows)
      differences.push(`${published} ${what} are published, but there are ${rows} rows`)
  }
  for (const shown of leaderboard) {
    const row = await reader
      .selectFrom('reputation')
      .select((columns) => [
        'solid_at_epoch as solidAtEpoch',
        'fresh_at_epoch as freshAtEpoch',
        'receipts',
        'lifetime_micro_usdc',
        columns
          .selectFrom('reputation_ledger')
          .select(({ fn }) => fn.max('created_at').as('at'))
          .whereRef('reputation_ledger.wallet', '=', 'reputation.wallet')
          .as('changed_at'),
      ])
      .where('display', '=', shown.wallet)
      .executeTakeFirst()
    const isSame =
      row?.receipts === shown.receipts_count &&
      toUsdc(row.lifetime_micro_usdc) === shown.total_usdc_lifetime &&
      (asOf === undefined || scoreAt(row, Date.parse(asOf)) === shown.rep_score)
    if (row === undefined)
      differences.push(`${shown.wallet} is on the leaderboard but has no score`)
    else if (!isSame && (row.changed_at ?? '') <= newerThan)
      differences.push(`the leaderboard shows other figures of ${shown.wallet}`)
  }
  return differences
}

function gitOf({ config }: DoctorContext): Git {
  return { repoDir: join(config.DATA_DIR, 'snapshots.git'), env: {}, remote: null }
}

/** Documents whose archived form omits values that change with every poll or every day. */
const formOfItsOwn = /^\/api\/v1\/(?:rails(?:\/[^/]+)?|opportunities|leaderboard|desk\/feed\.json)$/

async function compareTree(
  { manifest, bytes }: ReadableSet,
  tree: ReadonlyMap<string, string>,
): Promise<DoctorResult> {
  const byFile = new Map(manifest.documents.map((entry) => [entry.file, entry]))
  const unpublished = [...tree.keys()].filter((file) => !byFile.has(file))
  if (tree.size === 0) return bad('the last commit is empty')
  if (unpublished.length > 0)
    return bad(`no longer published: ${unpublished.slice(0, 3).join(', ')}`)
  const others: string[] = []
  for (const [file, blob] of tree) {
    const entry = byFile.get(file)
    if (entry === undefined || formOfItsOwn.test(entry.path)) continue
    const text = (await bytes(entry)).toString('utf8')
    // Pact manifests are archived as their signed bytes, all other JSON without `computed_at`.
    const forms = file.endsWith('.json') ? [text, withoutStamp(text)] : [text]
    if (!forms.map(blobName).includes(blob)) others.push(file)
  }
  return others.length === 0
    ? good(`${tree.size} files, the same as published`)
    : bad(`${others.slice(0, 3).join(', ')} ${others.length === 1 ? 'differs' : 'differ'}`)
}

function withoutStamp(text: string): string {
  const value = z.json().parse(JSON.parse(text))
  if (!isJsonObject(value)) return prettySorted(value)
  const { computed_at: _, ...rest } = value
  return prettySorted(rest)
}
