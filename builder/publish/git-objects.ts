/**
 * A small commit written as git keeps it: loose objects and the file of the branch.
 *
 * Every git command is a fork of this process, whose memory is large, and costs more than all that a commit of a few files
 * writes; a build after one receipt would run five of them. So what the builder does all day is done here, by the formats
 * of gitformat-loose and gitrepository-layout; whatever is rare or large (the first commit, packing, checking, pushing)
 * is left to git.
 *
 * Nothing is read back first but that the parent is there: a repository whose objects are gone is found by that. A lost or
 * damaged tree or blob is not; it shows at the full check, at the start and once a day.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hrtime, pid } from 'node:process'
import { deflateSync } from 'node:zlib'

import { isErrno } from '../../src/core/errno.ts'
import { inParallel, syncDirectory, writeNew } from './files.ts'
import { REGULAR_FILE, plainName } from './git-tree.ts'
import type { Commit, Tree } from './git-tree.ts'
import { GitError } from './git.ts'

const DIRECTORY = '40000'
const WRITES_AT_ONCE = 8
/** `gc.auto` of git, 6,700, counted as git counts: in one of the 256 directories. */
const LOOSE_IN_ONE = 27

interface GitObject {
  readonly name: string
  /** Header and content, as hashed. */
  readonly bytes: Buffer
}

/**
 * Commits `wanted` on top of a commit that holds `before`; both hold regular files alone.
 * @returns its name, or null, and nothing is written, where git has to do it: the paths make no tree, or the parent lies in
 * no file of its own or the branch in none, since git has packed them or they are lost.
 * @throws GitError where the branch is locked or stands elsewhere, or what the disk refuses.
 */
export async function writeCommit(
  repoDir: string,
  commit: Commit & { readonly parent: string },
  {
    files,
    written,
    before,
    wanted,
  }: {
    readonly files: ReadonlyMap<string, Uint8Array | string>
    readonly written: readonly string[]
    readonly before: Tree
    readonly wanted: Tree
  },
): Promise<string | null> {
  if (!existsSync(objectFile(repoDir, commit.parent))) return null
  if (!existsSync(branchFile(repoDir, commit.branch))) return null
  const [old, trees] = [treesOf(before), treesOf(wanted)]
  const root = trees?.at(-1)
  if (old === null || trees === null || root === undefined) return null
  const known = new Set(old.map(({ name }) => name))
  const made = commitObject(commit, root.name)
  await writeObjects(repoDir, [
    ...written.map((path) => gitObject('blob', Buffer.from(files.get(path) ?? ''))),
    ...trees.filter(({ name }) => !known.has(name)),
    made,
  ])
  await moveBranch(repoDir, commit, made.name)
  return made.name
}

/** Whether git would pack what lies loose. */
export function hasManyLoose(repoDir: string): boolean {
  try {
    const names = readdirSync(join(repoDir, 'objects', '17'))
    return names.filter((name) => /^[0-9a-f]{38}$/.test(name)).length > LOOSE_IN_ONE
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** The commit that the file of a branch names, or null where git has to be asked. */
export async function readBranch(repoDir: string, branch: string): Promise<string | null> {
  try {
    const text = await readFile(branchFile(repoDir, branch), 'latin1')
    return /^[0-9a-f]{40}\n$/.test(text) ? text.trimEnd() : null
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

function branchFile(repoDir: string, branch: string): string {
  return join(repoDir, 'refs', 'heads', branch)
}

function objectFile(repoDir: string, name: string): string {
  return join(repoDir, 'objects', name.slice(0, 2), name.slice(2))
}

interface Directory {
  readonly files: Map<string, string>
  readonly directories: Map<string, Directory>
}

/** The tree objects of all directories, the root last; null where git would not take the paths. */
function treesOf(tree: Tree): readonly GitObject[] | null {
  const root: Directory = { files: new Map(), directories: new Map() }
  for (const [path, name] of tree) {
    const parts = path.split('/')
    if (parts.some((part) => /^(?:|\.|\.\.|\.git)$/i.test(part))) return null
    const file = parts.pop() ?? ''
    let at = root
    for (const part of parts) {
      const next = at.directories.get(part) ?? { files: new Map(), directories: new Map() }
      at.directories.set(part, next)
      at = next
    }
    at.files.set(file, name)
  }
  const objects: GitObject[] = []
  return addTree(root, objects) === null ? null : objects
}

/** Adds the trees below it, then its own, whose name it answers. */
function addTree({ files, directories }: Directory, objects: GitObject[]): string | null {
  const entries = [...files].map(([name, hash]) => ({ key: name, mode: REGULAR_FILE, name, hash }))
  for (const [name, directory] of directories) {
    const hash = addTree(directory, objects)
    if (hash === null || files.has(name)) return null
    // git sorts a directory as if its name ended in a slash.
    entries.push({ key: `${name}/`, mode: DIRECTORY, name, hash })
  }
  const sorted = entries
    .map((entry) => ({ ...entry, key: Buffer.from(entry.key) }))
    .sort((left, right) => Buffer.compare(left.key, right.key))
  const content = sorted.flatMap(({ mode, name, hash }) => [
    Buffer.from(`${mode} ${name}\0`),
    Buffer.from(hash, 'hex'),
  ])
  const object = gitObject('tree', Buffer.concat(content))
  objects.push(object)
  return object.name
}

/** As `fast-import` makes it: who commits is the author. */
function commitObject({ parent, message, author, nowMs }: Commit, tree: string): GitObject {
  const seconds = Math.floor(nowMs / 1000)
  const who = `${plainName(author.name)} <${plainName(author.email)}> ${seconds} +0000`
  const head = [`tree ${tree}`, `parent ${parent}`, `author ${who}`, `committer ${who}`]
  return gitObject('commit', Buffer.from(`${head.join('\n')}\n\n${message}`))
}

function gitObject(kind: 'blob' | 'tree' | 'commit', content: Buffer): GitObject {
  const bytes = Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content])
  return { name: createHash('sha1').update(bytes).digest('hex'), bytes }
}

/** Flushed before they get their names, and their names before anything names them. */
async function writeObjects(repoDir: string, objects: readonly GitObject[]): Promise<void> {
  const home = join(repoDir, 'objects')
  const directories = new Set([home])
  await inParallel(objects, WRITES_AT_ONCE, async ({ name, bytes }) => {
    const path = objectFile(repoDir, name)
    const directory = dirname(path)
    directories.add(directory)
    await mkdir(directory, { recursive: true })
    if (existsSync(path)) return
    // git clears away drafts of this name that a crash leaves.
    const draft = join(directory, `tmp_obj_${pid}${hrtime.bigint()}`)
    try {
      await writeNew(draft, deflateSync(bytes), { mode: 0o444 })
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  })
  for (const directory of directories) await syncDirectory(directory)
}

/** By git's own lock, and only where the branch still stands at the parent. */
async function moveBranch(repoDir: string, { branch, parent }: Commit, to: string): Promise<void> {
  const file = branchFile(repoDir, branch)
  const lock = `${file}.lock`
  try {
    await writeNew(lock, Buffer.from(`${to}\n`))
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw new GitError(`the branch ${branch} is locked`)
    await rm(lock, { force: true })
    throw error
  }
  try {
    // Where git has packed the branch meanwhile nobody knows here what it stands at: the next build asks git.
    if ((await readBranch(repoDir, branch)) !== parent) {
      throw new GitError(`the branch ${branch} has moved`)
    }
    await rename(lock, file)
  } catch (error) {
    await rm(lock, { force: true })
    throw error
  }
  await syncDirectory(dirname(file))
}
