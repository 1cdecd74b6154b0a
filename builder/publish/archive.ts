/** Commits the facts that differ from the last commit to a bare git repository. The next build repairs a crash. */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import { isoTime } from '../../src/core/time.ts'
import type { PublicDocument } from './document.ts'
import { namesIn } from './files.ts'
import {
  BRANCH,
  BRANCH_REF,
  FAST_IMPORT,
  fastImportStream,
  headOf,
  treeDifference,
  treeOf,
  treeOfFiles,
} from './git-tree.ts'
import type { BlobNames, Commit, Tree } from './git-tree.ts'
import { GIT_TIMEOUT_MS, GitError, GitMissingError, REMOTE_NAME, runGit } from './git.ts'
import type { Git, GitEnvironment } from './git.ts'
import { LockedError, withFileLock } from './lock.ts'
import type { Leadership } from './publish.ts'

export interface ArchiveOptions extends Omit<Commit, 'parent'> {
  readonly repoDir: string
  /** All files of the archive, including unchanged files. */
  readonly files: ReadonlyMap<string, Uint8Array | string>
  /** Outcomes never contain the credentials of this address. */
  readonly remote: string | null
  readonly env: GitEnvironment
  /** With `full` (at the start and once a day), git checks every object first. */
  readonly check: 'full' | 'quick'
  /** If it is missing, the last commit is read back. */
  readonly memory?: ArchiveMemory
  readonly leadership?: Leadership
}

export interface ArchiveMemory {
  readonly texts: WeakMap<PublicDocument, string>
  readonly names: BlobNames
  commit: { readonly name: string; readonly tree: Tree } | null
  commitsSincePacking: number
}

export function emptyArchiveMemory(): ArchiveMemory {
  return { texts: new WeakMap(), names: new Map(), commit: null, commitsSincePacking: 0 }
}

export interface ArchiveOutcome {
  /** `off`: git is not installed. `failed`: see `error`; the next build tries again. */
  readonly state: 'ok' | 'off' | 'failed'
  /** Null when no fact changed. */
  readonly committed: string | null
  /** Also true if the remote already had all commits; null without a remote. */
  readonly pushed: boolean | null
  readonly behind: number | null
  /** A damaged repository was moved aside and replaced. */
  readonly restarted: { readonly movedTo: string; readonly reason: string } | null
  readonly error: string | null
}

/** A lock file of git that is older than any command may run is left over from a crash. */
const STALE_LOCK_MS = 2 * GIT_TIMEOUT_MS

/** After this many commits of some 20 objects each, `git gc --auto` packs loose objects. */
const COMMITS_PER_PACKING = 100

export async function archive(options: ArchiveOptions): Promise<ArchiveOutcome> {
  const repoDir = resolve(options.repoDir)
  const git: Git = { repoDir, env: options.env, remote: options.remote }
  const outcome: Mutable<ArchiveOutcome> = {
    state: 'ok',
    committed: null,
    pushed: null,
    behind: null,
    restarted: null,
    error: null,
  }
  try {
    await mkdir(dirname(repoDir), { recursive: true })
    await withFileLock(`${repoDir}.lock`, () => commitAndPush(git, options, outcome))
  } catch (error) {
    outcome.state = error instanceof GitMissingError ? 'off' : 'failed'
    const message = operationalMessage(error)
    outcome.error ??= message
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
  await removeStaleLocks(git.repoDir, options.nowMs)
  if (await isMissing(git.repoDir)) await createRepository(git)
  try {
    if (options.check === 'full') await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
    outcome.committed = await commit(git, options)
  } catch (error) {
    const reason = await findDamage(git, error)
    if (reason === null) throw error
    const movedTo = await moveAside(git.repoDir, options.nowMs)
    outcome.restarted = { movedTo, reason }
    await createRepository(git)
    outcome.committed = await commit(git, options)
  }
  if (options.remote === null) return
  await options.leadership?.check()
  await push(git, options.remote, outcome)
  if (outcome.pushed === true || !(await followRemote(git))) return
  await options.leadership?.check()
  outcome.committed = await commit(git, options)
  await push(git, options.remote, outcome)
}

async function commit(git: Git, options: ArchiveOptions): Promise<string | null> {
  const { memory = emptyArchiveMemory(), message, author, nowMs, files } = options
  const parent = await headOf(git)
  if (parent === null) await assertUnused(git)
  const wanted = treeOfFiles(files, memory.names)
  const isKnown =
    options.check === 'quick' && memory.commit !== null && memory.commit.name === parent
  const before = isKnown ? (memory.commit?.tree ?? new Map()) : await treeOf(git, parent)
  if (parent !== null) memory.commit = { name: parent, tree: before }
  const change = treeDifference(before, wanted)
  if (change.written.length + change.deleted.length === 0) return null
  const stream = fastImportStream({ parent, message, author, nowMs }, files, change)
  await runGit(git, FAST_IMPORT, stream)
  const head = await headOf(git)
  // The first commit of a process is read back; later ones by the full check.
  if (head === null || head === parent || !(isKnown || sameTree(await treeOf(git, head), wanted))) {
    throw new GitError('git fast-import: the commit differs from the sent files')
  }
  memory.commit = { name: head, tree: wanted }
  memory.commitsSincePacking += 1
  if (!isKnown || memory.commitsSincePacking >= COMMITS_PER_PACKING) {
    await runGit(git, ['gc', '--auto', '--quiet'])
    memory.commitsSincePacking = 0
  }
  return head
}

class LostBranchError extends GitError {}

/** Git ignores an unreadable ref, so without this check a lost branch would be replaced by a new history unnoticed. */
async function assertUnused(git: Git): Promise<void> {
  const counts = (await runGit(git, ['count-objects', '-v'])).toString('utf8')
  if (/^(?:count|in-pack): [1-9]/m.test(counts)) {
    throw new LostBranchError(`the branch ${BRANCH} is lost`)
  }
}

function sameTree(left: Tree, right: Tree): boolean {
  const { written, deleted } = treeDifference(left, right)
  return written.length + deleted.length === 0
}

async function isMissing(repoDir: string): Promise<boolean> {
  return (await namesIn(repoDir)).length === 0
}

/** Creates the repository under a temporary name, with the history of the remote. @throws GitError if it is unreachable */
async function createRepository(git: Git): Promise<void> {
  const draft: Git = { ...git, repoDir: `${git.repoDir}.new` }
  await rm(draft.repoDir, { recursive: true, force: true })
  await runGit(draft, ['init', '--bare', '--quiet', '--template=', '--object-format=sha1'])
  await runGit(draft, ['symbolic-ref', 'HEAD', BRANCH_REF])
  const isEmpty =
    git.remote === null ||
    (await runGit(draft, ['ls-remote', REMOTE_NAME, BRANCH_REF])).length === 0
  if (!isEmpty) await fetchTo(draft, BRANCH_REF)
  await rm(git.repoDir, { recursive: true, force: true })
  await rename(draft.repoDir, git.repoDir)
}

async function fetchTo(git: Git, ref: string): Promise<void> {
  await runGit(git, ['fetch', '--quiet', '--no-tags', REMOTE_NAME, `+${BRANCH_REF}:${ref}`])
}

/** Goes on from commits that a builder on another machine has pushed. Returns false if there are none. */
async function followRemote(git: Git): Promise<boolean> {
  const fetched = 'refs/fetched/main'
  const read = async (...args: string[]) => (await runGit(git, args)).toString('utf8').trim()
  await fetchTo(git, fetched)
  // Fails without a common commit: an unrelated history is never continued.
  const common = await read('merge-base', BRANCH_REF, fetched)
  if (common === (await read('rev-parse', fetched))) return false
  const own = await read('rev-parse', BRANCH_REF)
  await runGit(git, ['update-ref', `refs/superseded/${own}`, own])
  await runGit(git, ['update-ref', BRANCH_REF, fetched])
  return true
}

async function findDamage(git: Git, failure: unknown): Promise<string | null> {
  if (!(failure instanceof GitError)) return null
  if (failure instanceof LostBranchError) return failure.message
  try {
    await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
    return null
  } catch (error) {
    return error instanceof GitError ? error.message : null
  }
}

async function moveAside(repoDir: string, nowMs: number): Promise<string> {
  const stamp = isoTime(nowMs).replaceAll(/[:.]/g, '-')
  for (let attempt = 1; ; attempt += 1) {
    const target = `${repoDir}.broken-${stamp}${attempt === 1 ? '' : `-${attempt}`}`
    if (!(await isMissing(target))) continue
    await rename(repoDir, target)
    return target
  }
}

async function removeStaleLocks(repoDir: string, nowMs: number): Promise<void> {
  const refs = await namesIn(join(repoDir, 'refs'), { recursive: true })
  const names = [...(await namesIn(repoDir)), ...refs.map((name) => join('refs', name))]
  for (const name of names.filter((each) => each.endsWith('.lock'))) {
    const path = join(repoDir, name)
    if (nowMs - (await stat(path)).mtimeMs > STALE_LOCK_MS) await rm(path, { force: true })
  }
}

/** A ref per remote records what was pushed, so that a build without new commits needs no network. */
async function push(git: Git, remote: string, outcome: Mutable<ArchiveOutcome>) {
  const pushedRef = `refs/pushed/${sha256Hex(remote).slice(0, 16)}`
  const pushedCommit = await runGit(git, ['for-each-ref', '--format=%(objectname)', pushedRef])
  const exclude = pushedCommit.length === 0 ? [] : [`^${pushedRef}`]
  const count = await runGit(git, ['rev-list', '--count', BRANCH_REF, ...exclude])
  outcome.behind = Number(count.toString('utf8'))
  outcome.pushed = outcome.behind === 0
  if (outcome.pushed) return
  try {
    const pushed = `${BRANCH_REF}:${BRANCH_REF}`
    await runGit(git, ['push', '--quiet', '--no-verify', REMOTE_NAME, pushed])
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    outcome.state = 'failed'
    outcome.error = error.message
    return
  }
  await runGit(git, ['update-ref', pushedRef, BRANCH_REF])
  outcome.state = 'ok'
  outcome.error = null
  outcome.pushed = true
  outcome.behind = 0
}
