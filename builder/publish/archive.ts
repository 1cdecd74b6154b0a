/**
 * The git archive of the facts: one commit per build that changed some. The repository is bare, so no
 * work tree can be dirty or lost, and what to commit is found by comparing with the last commit, so a
 * crash between publishing and committing is made good by the next build. Nothing here can stop a
 * build: what goes wrong comes back as an outcome.
 */
import { createHash } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { isoTime } from '../../src/core/time.ts'
import type { PublicDocument } from './document.ts'
import { namesIn } from './files.ts'
import { hasManyLoose, readBranch, writeCommit } from './git-objects.ts'
import {
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
import { LockedError, acquireLock } from './lock.ts'

export interface ArchiveOptions {
  /** The bare repository; made where there is none. */
  readonly repoDir: string
  /** Every file that the archive should hold, not only those that changed. */
  readonly files: ReadonlyMap<string, Uint8Array | string>
  /** Subject, empty line, body. */
  readonly message: string
  /** Unix milliseconds. */
  readonly nowMs: number
  /** Where to push; null for nowhere. May hold credentials, which never reach an outcome. */
  readonly remote: string | null
  readonly author: { readonly name: string; readonly email: string }
  readonly env: GitEnvironment
  /** `full` reads every object back before it is built upon (at start, once a day); `quick` does not. */
  readonly check: 'full' | 'quick'
  readonly branch?: string
  /** What this process archived before; absent: all is read back. */
  readonly memory?: ArchiveMemory
}

export interface ArchiveMemory {
  /** Texts of archived documents, so that those of the same document are made once. */
  readonly texts: WeakMap<PublicDocument, string>
  readonly names: BlobNames
  /** The last commit that was read or made, and what it holds: a commit never changes. */
  commit: { readonly name: string; readonly tree: Tree; readonly isOurs: boolean } | null
}

export function emptyArchiveMemory(): ArchiveMemory {
  return { texts: new WeakMap(), names: new Map(), commit: null }
}

export interface Archived {
  /** `off`: there is no git on this machine. `failed`: see `error`; the next build tries again. */
  readonly state: 'ok' | 'off' | 'failed'
  /** The new commit; null where the facts are as they were. */
  readonly committed: string | null
  /** Null where there is no remote; true also where it had everything already. */
  readonly pushed: boolean | null
  /** Commits that the remote lacks; null where there is no remote. */
  readonly behind: number | null
  /** A repository that could not be read was moved aside, and a new one begun. */
  readonly restarted: { readonly movedTo: string; readonly reason: string } | null
  readonly error: string | null
}

/** A lock of git's own is left over when it is older than any command may run. */
const STALE_LOCK_MS = 2 * GIT_TIMEOUT_MS

/** So many are written by this process, on top of a commit of its own; of more a pack is made. */
const SMALL_COMMIT_FILES = 100

/** Commits the difference between the files and the last commit, and pushes what the remote lacks. */
export async function archive(options: ArchiveOptions): Promise<Archived> {
  const repoDir = resolve(options.repoDir)
  const git: Git = { repoDir, env: options.env, remote: options.remote }
  const outcome: Mutable<Archived> = {
    state: 'ok',
    committed: null,
    pushed: null,
    behind: null,
    restarted: null,
    error: null,
  }
  try {
    await mkdir(dirname(repoDir), { recursive: true })
    const lock = acquireLock(`${repoDir}.lock`, options.nowMs)
    try {
      await record(git, options, outcome)
    } finally {
      lock.release()
    }
  } catch (error) {
    outcome.state = error instanceof GitMissingError ? 'off' : 'failed'
    outcome.error = expected(error)
  }
  return outcome
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The message of a failure that a machine can cause; what only a mistake of ours can cause is thrown on. */
function expected(error: unknown): string {
  const known = [GitError, GitMissingError, LockedError].some((kind) => error instanceof kind)
  if (error instanceof Error && (known || 'code' in error)) return error.message
  throw error
}

async function record(git: Git, options: ArchiveOptions, outcome: Mutable<Archived>) {
  const branch = options.branch ?? 'main'
  await removeStaleLocks(git.repoDir, options.nowMs)
  if (await isMissing(git.repoDir)) await begin(git, branch)
  try {
    if (options.check === 'full') await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
    outcome.committed = await commit(git, branch, options)
  } catch (error) {
    const reason = await damage(git, error)
    if (reason === null) throw error
    const movedTo = await moveAside(git.repoDir, options.nowMs)
    outcome.restarted = { movedTo, reason }
    await begin(git, branch)
    outcome.committed = await commit(git, branch, options)
  }
  if (options.remote !== null) await push(git, branch, options.remote, outcome)
}

/** Answers the new commit, or null where the last one holds these very files. */
async function commit(git: Git, branch: string, options: ArchiveOptions): Promise<string | null> {
  const { memory = emptyArchiveMemory() } = options
  const parent = (await readBranch(git.repoDir, branch)) ?? (await headOf(git, branch))
  if (parent === null) await assertUnused(git, branch)
  const wanted = treeOfFiles(options.files, memory.names)
  const held = options.check === 'quick' && memory.commit?.name === parent ? memory.commit : null
  const before = held?.tree ?? (await treeOf(git, parent))
  if (parent !== null) memory.commit = { name: parent, tree: before, isOurs: held?.isOurs === true }
  const change = treeDifference(before, wanted)
  if (change.written.length + change.deleted.length === 0) return null
  const { message, author, nowMs, files } = options
  const made = { branch, parent, message, author, nowMs }
  const small = held?.isOurs === true && change.written.length <= SMALL_COMMIT_FILES
  const written =
    small && parent !== null
      ? await writeCommit(git.repoDir, { ...made, parent }, { files, ...change, before, wanted })
      : null
  const head = written ?? (await importCommit(git, made, files, change, wanted))
  memory.commit = { name: head, tree: wanted, isOurs: true }
  if (written === null || hasManyLoose(git.repoDir)) await runGit(git, ['gc', '--auto', '--quiet'])
  return head
}

/** By git, and read back from it. */
async function importCommit(
  git: Git,
  commit: Commit,
  files: ReadonlyMap<string, Uint8Array | string>,
  change: ReturnType<typeof treeDifference>,
  wanted: Tree,
): Promise<string> {
  await runGit(git, FAST_IMPORT, fastImportStream(commit, files, change))
  const head = await headOf(git, commit.branch)
  if (head === null || head === commit.parent || !sameTree(await treeOf(git, head), wanted)) {
    throw new GitError('git fast-import: the commit does not hold what was sent')
  }
  return head
}

/** The repository has history, but its branch cannot be read. */
class LostBranchError extends GitError {}

/** Git passes over a ref that it cannot read, as if there were none: history would begin again unnoticed. */
async function assertUnused(git: Git, branch: string): Promise<void> {
  const counts = (await runGit(git, ['count-objects', '-v'])).toString('utf8')
  if (/^(?:count|in-pack): [1-9]/m.test(counts)) {
    throw new LostBranchError(`the branch ${branch} is lost`)
  }
}

function sameTree(left: Tree, right: Tree): boolean {
  const { written, deleted } = treeDifference(left, right)
  return written.length + deleted.length === 0
}

async function isMissing(repoDir: string): Promise<boolean> {
  return (await namesIn(repoDir)).length === 0
}

/**
 * A new repository, complete before it gets its name. History that the remote still has is continued;
 * where the remote is out of reach or has none, a new history begins.
 */
async function begin(git: Git, branch: string): Promise<void> {
  const draft: Git = { ...git, repoDir: `${git.repoDir}.new` }
  await rm(draft.repoDir, { recursive: true, force: true })
  await runGit(draft, ['init', '--bare', '--quiet', '--template=', '--object-format=sha1'])
  await runGit(draft, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])
  if (git.remote !== null) {
    const refspec = `refs/heads/${branch}:refs/heads/${branch}`
    try {
      await runGit(draft, ['fetch', '--quiet', '--no-tags', REMOTE_NAME, refspec])
    } catch (error) {
      if (!(error instanceof GitError)) throw error
    }
  }
  await rm(git.repoDir, { recursive: true, force: true })
  await rename(draft.repoDir, git.repoDir)
}

/** What git finds wrong with the repository, or null where it is sound and the failure was another's. */
async function damage(git: Git, failure: unknown): Promise<string | null> {
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

/** No other archiver runs while ours holds its lock, so what git left locked long ago is left over. */
async function removeStaleLocks(repoDir: string, nowMs: number): Promise<void> {
  const refs = await namesIn(join(repoDir, 'refs'), { recursive: true })
  const names = [...(await namesIn(repoDir)), ...refs.map((name) => join('refs', name))]
  for (const name of names.filter((each) => each.endsWith('.lock'))) {
    const path = join(repoDir, name)
    if (nowMs - (await stat(path)).mtimeMs > STALE_LOCK_MS) await rm(path, { force: true })
  }
}

/** What was pushed is remembered by a ref per remote, so a build without changes needs no network. */
async function push(git: Git, branch: string, remote: string, outcome: Mutable<Archived>) {
  const seen = `refs/pushed/${createHash('sha256').update(remote).digest('hex').slice(0, 16)}`
  const ref = `refs/heads/${branch}`
  const known = await runGit(git, ['for-each-ref', '--format=%(objectname)', seen])
  const exclude = known.length === 0 ? [] : [`^${seen}`]
  const count = await runGit(git, ['rev-list', '--count', ref, ...exclude])
  outcome.behind = Number(count.toString('utf8'))
  outcome.pushed = outcome.behind === 0
  if (outcome.pushed) return
  try {
    await runGit(git, ['push', '--quiet', '--no-verify', REMOTE_NAME, `${ref}:${ref}`])
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    outcome.state = 'failed'
    outcome.error = error.message
    return
  }
  await runGit(git, ['update-ref', seen, ref])
  outcome.pushed = true
  outcome.behind = 0
}
