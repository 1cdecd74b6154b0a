/** Commits changed facts to a bare git repository and pushes them. The next build retries after a failure. */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { LockedError, withFileLock } from '../../src/db/sqlite3/file-lock.ts'
import type { PublicDocument } from '../publish/document.ts'
import { namesIn } from '../publish/store/files.ts'
import {
  BRANCH,
  BRANCH_REF,
  FAST_IMPORT,
  blobName,
  fastImportStream,
  headOf,
  treeOf,
} from './git-tree.ts'
import { GIT_TIMEOUT_MS, GitError, GitMissingError, REMOTE_NAME, runGit } from './git.ts'
import type { Git, GitEnvironment } from './git.ts'

export interface ArchiveOptions {
  readonly repoDir: string
  /** All files of the archive, including unchanged files. */
  readonly files: ReadonlyMap<string, string>
  readonly message: string
  readonly nowMs: number
  /** Outcomes never contain the credentials of this address. */
  readonly remote: string | null
  readonly env: GitEnvironment
  readonly memory?: ArchiveMemory
  /** Call before a change of the repository. @throws LeaseLostError */
  readonly check?: () => Promise<void>
}

export interface ArchiveMemory {
  readonly texts: WeakMap<PublicDocument, string>
  /** Null: the last commit is read. */
  last: { readonly head: string; readonly files: ReadonlyMap<string, string> } | null
}

export function emptyArchiveMemory(): ArchiveMemory {
  return { texts: new WeakMap(), last: null }
}

export interface ArchiveOutcome {
  /** `off`: git is not installed. `failed`: see `error`; the next build tries again. */
  readonly state: 'ok' | 'off' | 'failed'
  /** Null when no fact changed. */
  readonly committed: string | null
  /** The number of commits that the remote lacks; null without a remote. */
  readonly behind: number | null
  readonly error: string | null
}

/** Older than any command may run. */
const staleMs = 2 * GIT_TIMEOUT_MS

export async function archive(options: ArchiveOptions): Promise<ArchiveOutcome> {
  const { remote, env } = options
  const git: Git = { repoDir: resolve(options.repoDir), remote, env }
  const outcome: Mutable<ArchiveOutcome> = {
    state: 'ok',
    committed: null,
    behind: null,
    error: null,
  }
  try {
    await mkdir(dirname(git.repoDir), { recursive: true })
    await withFileLock(`${git.repoDir}.lock`, () => commitAndPush(git, options, outcome))
  } catch (error) {
    outcome.state = error instanceof GitMissingError ? 'off' : 'failed'
    outcome.error = operationalMessage(error)
  }
  return outcome
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Returns the message of an operational failure and rethrows programming errors. */
function operationalMessage(error: unknown): string {
  const isOperational = [GitError, GitMissingError, LockedError].some(
    (kind) => error instanceof kind,
  )
  if (error instanceof Error && (isOperational || 'code' in error)) return error.message
  throw error
}

async function commitAndPush(git: Git, options: ArchiveOptions, outcome: Mutable<ArchiveOutcome>) {
  const { remote, check } = options
  await removeLeftovers(git.repoDir, options.nowMs)
  outcome.committed =
    (await namesIn(git.repoDir)).length === 0
      ? await createRepository(git, options)
      : await commit(git, options)
  if (remote === null) return
  await check?.()
  // A ref per remote records its state, so that a build without new commits needs no network.
  const pushed = `refs/pushed/${sha256Hex(remote).slice(0, 16)}`
  const countMissing = async () => {
    const known = await read(git, 'for-each-ref', '--format=%(objectname)', pushed)
    const except = known === '' ? [] : [`^${known}`]
    return Number(await read(git, 'rev-list', '--count', BRANCH, ...except))
  }
  const push = async () => {
    outcome.behind = await countMissing()
    if (outcome.behind === 0) return
    const head = await read(git, 'rev-parse', BRANCH)
    const refspec = `${head}:${BRANCH_REF}`
    await runGit(git, ['push', '--quiet', '--no-verify', REMOTE_NAME, refspec])
    await runGit(git, ['update-ref', pushed, head])
    outcome.behind = 0
  }
  await push().catch(async (error: unknown) => {
    if (!(await followRemote(git, pushed))) throw error
    await check?.()
    outcome.committed = await commit(git, options)
    await push()
  })
}

async function read(git: Git, ...args: readonly string[]): Promise<string> {
  return (await runGit(git, args)).toString('utf8').trim()
}

async function commit(git: Git, options: ArchiveOptions): Promise<string | null> {
  const { files, message, nowMs, memory = emptyArchiveMemory() } = options
  const parent = await headOf(git)
  // A new repository is a draft until it has a commit.
  if (parent === null && git.repoDir === resolve(options.repoDir)) {
    throw new GitError(`the branch ${BRANCH} is lost`)
  }
  const { last } = memory
  const known = last !== null && last.head === parent ? last.files : null
  const before = known ?? (parent === null ? new Map<string, string>() : await treeOf(git, parent))
  const formOf = known === null ? blobName : (text: string) => text
  const written = [...files].filter(([path, text]) => before.get(path) !== formOf(text))
  const deleted = [...before.keys()].filter((path) => !files.has(path))
  const isChanged = written.length + deleted.length > 0
  if (isChanged) {
    const stream = fastImportStream({ parent, message, nowMs, deleted, written })
    await runGit(git, FAST_IMPORT, Buffer.from(stream))
  }
  const head = isChanged ? await headOf(git) : parent
  if (head === null || (isChanged && head === parent)) throw new GitError('nothing was committed')
  memory.last = { head, files }
  // At the start and once a day; a failure is repeated then.
  if (known === null) await runGit(git, ['gc', '--auto', '--quiet']).catch(() => undefined)
  return isChanged ? head : null
}

/** Commits to the history of the remote, if it has one, or begins it. @throws GitError if the remote is unreachable */
async function createRepository(git: Git, options: ArchiveOptions): Promise<string | null> {
  const draft: Git = { ...git, repoDir: `${git.repoDir}.new` }
  await rm(draft.repoDir, { recursive: true, force: true })
  await runGit(draft, ['init', '--bare', '--quiet', '--template=', '--object-format=sha1'])
  await runGit(draft, ['symbolic-ref', 'HEAD', BRANCH_REF])
  const found = git.remote === null ? '' : await read(draft, 'ls-remote', REMOTE_NAME, BRANCH_REF)
  if (found !== '') await fetchTo(draft, BRANCH_REF)
  const committed = await commit(draft, options)
  // Replaces an empty directory only.
  await rename(draft.repoDir, git.repoDir)
  return committed
}

async function fetchTo(git: Git, ref: string): Promise<void> {
  const options = ['--quiet', '--no-tags', '--no-write-fetch-head']
  await runGit(git, ['fetch', ...options, REMOTE_NAME, `+${BRANCH_REF}:${ref}`])
}

/** Continues from commits that a builder on another machine has pushed. Returns false if there are none. */
async function followRemote(git: Git, pushed: string): Promise<boolean> {
  const fetched = 'refs/fetched/main'
  try {
    await fetchTo(git, fetched)
    // Fails without a common commit: an unrelated history is never continued.
    const common = await read(git, 'merge-base', BRANCH, fetched)
    if (common === (await read(git, 'rev-parse', fetched))) return false
  } catch (error) {
    if (error instanceof GitError) return false
    throw error
  }
  const own = await read(git, 'rev-parse', BRANCH)
  await runGit(git, ['update-ref', `refs/superseded/${own}`, own])
  await runGit(git, ['update-ref', BRANCH_REF, fetched, own])
  await runGit(git, ['update-ref', pushed, fetched])
  return true
}

/** Git leaves locks and reports of crashes behind. */
async function removeLeftovers(repoDir: string, nowMs: number): Promise<void> {
  const refs = await namesIn(join(repoDir, 'refs'), { recursive: true })
  const names = [...(await namesIn(repoDir)), ...refs.map((name) => join('refs', name))]
  for (const name of names.filter((each) => /\.lock$|^fast_import_crash_/.test(each))) {
    const path = join(repoDir, name)
    // A running gc may remove its locks.
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }))
    if (nowMs - mtimeMs > staleMs) await rm(path, { force: true })
  }
}
