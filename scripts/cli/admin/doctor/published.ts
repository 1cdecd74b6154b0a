/** What is published: as it was signed, as the keys are, as the rows say, and as the snapshot repository keeps it. */
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { archiveFiles } from '../../../../builder/publish/document.ts'
import { headOf, treeOf, treeOfFiles } from '../../../../builder/publish/git-tree.ts'
import { GitError, GitMissingError, runGit } from '../../../../builder/publish/git.ts'
import type { Git } from '../../../../builder/publish/git.ts'
import { readKeys } from '../../../../builder/publish/keys.ts'
import { pathOf } from '../../../../src/contract/routes.ts'
import { receipt } from '../../../../src/contract/schemas/receipt.ts'
import { CURRENT_LINK, MANIFEST_FILE, manifestSchema } from '../../../../src/core/documents.ts'
import type { Manifest } from '../../../../src/core/documents.ts'
import { toUsdc } from '../../../../src/core/money.ts'
import { scoreAt } from '../../../../src/core/reputation.ts'
import { minuteMs } from '../../../../src/core/time.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'
import { countReceipts } from '../../../../src/db/receipts/receipts.ts'
import { countWorkers } from '../../../../src/db/workers.ts'
import { verifyDirectory } from '../../published-set.ts'
import { bad, well } from './check.ts'
import type { DoctorCheck, Patient } from './check.ts'

export const publishedChecks: readonly DoctorCheck[] = [
  {
    what: 'published set',
    remedy:
      'The builder writes over nothing that it cannot read back, and says so. The service goes on with the set that it has in memory; started anew, it serves the newest older set that is whole (/api/v1/health tells its time). Put the set back from a backup, or remove the link PUBLIC_DIR/current and restart the builder: everything is published anew.',
    moves: true,
    look: async ({ config }) => {
      const dir = await currentDir(config.PUBLIC_DIR)
      if (dir === null) return bad(`nothing is published in ${config.PUBLIC_DIR} yet`)
      const checks = await verifyDirectory(dir)
      const first = checks.find(({ good }) => !good)
      return first === undefined
        ? well(`${checks.length - 2} documents, each as it was signed`)
        : bad(`${first.what}: ${first.detail}`)
    },
  },
  {
    what: 'published keys',
    remedy:
      'A build publishes the keys: wait a minute after a rotation, else restart the builder. A key that is published and unknown here means that DATA_DIR/keys was lost or replaced: put it back from its backup.',
    moves: true,
    look: async ({ config }) => {
      const set = await readSet(config.PUBLIC_DIR)
      const dir = join(config.DATA_DIR, 'keys')
      const keys = await readKeys(dir).catch(() => null)
      if (set === null || keys === null) return null
      const published = keyList.parse(await set.json(pathOf('getSigningKeys')))
      const held = keyList.parse(keys.publicKeys)
      return JSON.stringify(published) === JSON.stringify(held)
        ? well(`${held.keys.length} keys, as they are held here`)
        : bad(`published: ${kidsOf(published)}; held here: ${kidsOf(held)}`)
    },
  },
  {
    what: 'documents against rows',
    remedy:
      'What readers see and what the rows say differ. Where a backup was restored, the next build puts it right; else rows were changed by hand or lost: compare with a backup before anything is built (`BUILDER=off`).',
    moves: true,
    look: async (patient) => {
      const set = await readSet(patient.config.PUBLIC_DIR)
      if (set === null || patient.database === null) return null
      const differences = await rowDifferences(set, patient.database)
      return differences.length === 0
        ? well('receipts, workers and the leaderboard are as the rows say')
        : bad(differences.slice(0, 5).join('; '))
    },
  },
  {
    what: 'snapshot repository',
    remedy:
      'Leave it: the next full check of the builder (at its start) moves it aside as `snapshots.git.broken-…` and begins anew, from the remote where there is one. Keep the broken one: `git fsck` and a clone may save its history.',
    moves: true,
    look: async (patient) => {
      const git = gitOf(patient)
      try {
        const head = await headOf(git, 'main')
        if (head === null) return bad('there is no commit on main')
        await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
        return well(`every object reads well, ${head.slice(0, 12)} is the last commit`)
      } catch (error) {
        if (error instanceof GitMissingError) return well('there is no git on this machine')
        if (error instanceof GitError) return bad(error.message)
        throw error
      }
    },
  },
  {
    what: 'snapshots against documents',
    remedy:
      'The last commit is not what is published. The next build commits the difference; where it stays, the run of `build` says why (`admin doctor` shows it, /api/v1/health too).',
    moves: true,
    look: async (patient) => {
      const set = await readSet(patient.config.PUBLIC_DIR)
      if (set === null) return null
      const git = gitOf(patient)
      try {
        const head = await headOf(git, 'main')
        if (head === null) return null
        return await treeLook(set, await treeOf(git, head))
      } catch (error) {
        if (error instanceof GitMissingError || error instanceof GitError) return null
        throw error
      }
    },
  },
]

interface PublishedSet {
  readonly manifest: Manifest
  readonly bytes: (file: string) => Promise<Buffer>
  readonly json: (path: string) => Promise<unknown>
}

const keyList = z.object({
  keys: z.array(z.object({ kid: z.string(), public_key: z.string(), status: z.string() })),
})

function kidsOf({ keys }: z.infer<typeof keyList>): string {
  return keys.map(({ kid, status }) => `${kid} (${status})`).join(', ')
}

async function currentDir(publicDir: string): Promise<string | null> {
  return await realpath(join(publicDir, CURRENT_LINK)).catch(() => null)
}

/** The set that is current now, whatever is published while it is read. Null where there is none that reads. */
async function readSet(publicDir: string): Promise<PublishedSet | null> {
  const dir = await currentDir(publicDir)
  if (dir === null) return null
  const bytes = async (file: string) => await readFile(join(dir, file))
  const text = await bytes(MANIFEST_FILE).catch(() => Buffer.from('null'))
  const parsed = manifestSchema.safeParse(JSON.parse(text.toString('utf8')))
  if (!parsed.success) return null
  const manifest = parsed.data
  return {
    manifest,
    bytes,
    json: async (path) => {
      const entry = manifest.documents.find((one) => one.path === path)
      const text = entry === undefined ? 'null' : (await bytes(entry.file)).toString('utf8')
      const value: unknown = JSON.parse(text)
      return value
    },
  }
}

const board = z.object({
  as_of: z.string().nullable(),
  leaderboard: z.array(
    z.object({
      wallet: z.string(),
      rep_score: z.number(),
      receipts_count: z.number(),
      total_usdc_lifetime: z.number(),
    }),
  ),
})
const receiptList = z.object({ total: z.number(), receipts: z.array(receipt) })
const workerList = z.object({ total: z.number() })

/** Longer than any write or any build takes between the time in it and its rows. */
const SLACK_MS = 5 * minuteMs

/** Rows may be newer than the set, and never older: what it shows must be there, with the same figures. */
async function rowDifferences(
  { manifest, json }: PublishedSet,
  { reader }: OpenDatabase,
): Promise<readonly string[]> {
  const differences: string[] = []
  const builtMs = Date.parse(manifest.computed_at)
  const receipts = receiptList.parse(await json(pathOf('listReceipts')))
  for (const shown of receipts.receipts) {
    const row = await reader
      .selectFrom('receipts')
      .select(['rail', 'to_display', 'amount_micro_usdc', 'accepted_at'])
      .where('id', '=', shown.receipt_id)
      .executeTakeFirst()
    const same =
      row?.rail === shown.rail &&
      row.to_display === shown.to_wallet &&
      toUsdc(row.amount_micro_usdc) === shown.amount_usdc &&
      row.accepted_at === shown.accepted_at
    if (!same)
      differences.push(
        `receipt ${shown.receipt_id} ${row === undefined ? 'has no row' : 'has another row'}`,
      )
  }
  const receiptRows = await countReceipts(reader)
  if (receipts.total > receiptRows) {
    differences.push(`${receipts.total} receipts are shown and ${receiptRows} are there`)
  }
  const workers = workerList.parse(await json(pathOf('listWorkers')))
  const workerRows = await countWorkers(reader)
  if (workers.total > workerRows) {
    differences.push(`${workers.total} workers are shown and ${workerRows} are there`)
  }
  const { as_of: asOf, leaderboard } = board.parse(await json(pathOf('getLeaderboard')))
  for (const shown of leaderboard) {
    const row = await reader
      .selectFrom('reputation')
      .select(['wallet', 'decayed_sum_at_epoch', 'receipts', 'lifetime_micro_usdc'])
      .where('display', '=', shown.wallet)
      .executeTakeFirst()
    if (row === undefined) {
      differences.push(`${shown.wallet} is on the leaderboard and has no score`)
      continue
    }
    const newer = await reader
      .selectFrom('reputation_ledger')
      .select('wallet')
      .where('wallet', '=', row.wallet)
      .where('created_at', '>', new Date(builtMs - SLACK_MS).toISOString())
      .executeTakeFirst()
    const same =
      row.receipts === shown.receipts_count &&
      toUsdc(row.lifetime_micro_usdc) === shown.total_usdc_lifetime &&
      (asOf === null || scoreAt(row.decayed_sum_at_epoch, Date.parse(asOf)) === shown.rep_score)
    if (!same && newer === undefined)
      differences.push(`the leaderboard shows other figures of ${shown.wallet}`)
  }
  return differences
}

function gitOf({ config }: Patient): Git {
  return { repoDir: join(config.DATA_DIR, 'snapshots.git'), env: {}, remote: null }
}

/** Documents whose archived form leaves out what changes with every poll and every day. */
const formOfItsOwn = /^\/api\/v1\/(?:rails(?:\/[^/]+)?|opportunities|leaderboard|desk\/feed\.json)$/

async function treeLook(
  { manifest, bytes }: PublishedSet,
  tree: ReadonlyMap<string, string>,
): Promise<{ readonly good: boolean; readonly detail: string }> {
  const byFile = new Map(manifest.documents.map((entry) => [entry.file, entry]))
  const strangers = [...tree.keys()].filter((file) => !byFile.has(file))
  const others: string[] = []
  for (const [file, blob] of tree) {
    const entry = byFile.get(file)
    if (entry === undefined || formOfItsOwn.test(entry.path)) continue
    const text = (await bytes(file)).toString('utf8')
    const { path, content_type: contentType, max_age: maxAgeSeconds } = entry
    // Manifests of pacts are kept as the bytes that were signed, all other JSON by its facts.
    const forms = file.endsWith('.json') ? [text, withoutStamp(text)] : [text]
    const blobs = forms.map((archive) =>
      treeOfFiles(
        archiveFiles([{ path, contentType, maxAgeSeconds, body: { text }, archive }]),
      ).get(file),
    )
    if (!blobs.includes(blob)) others.push(file)
  }
  if (tree.size === 0) return bad('the last commit is empty')
  if (strangers.length > 0) return bad(`${strangers.slice(0, 3).join(', ')} is published no more`)
  return others.length === 0
    ? well(`${tree.size} files, as they are published`)
    : bad(`${others.slice(0, 3).join(', ')} ${others.length === 1 ? 'differs' : 'differ'}`)
}

const jsonValue = z.json()

function withoutStamp(text: string) {
  const value = jsonValue.parse(JSON.parse(text))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { computed_at: _, ...kept } = value
  return kept
}
