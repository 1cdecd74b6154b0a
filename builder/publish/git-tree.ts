import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { pruneMissing } from '../cache/memoize.ts'
import { readTextIfExists } from '../cache/stat-fingerprint.ts'
import { runGit } from './git.ts'
import type { Git } from './git.ts'

export const BRANCH = 'main'
export const BRANCH_REF = `refs/heads/${BRANCH}`
const REGULAR_FILE = '100644'

/** Object name by path. */
export type Tree = ReadonlyMap<string, string>

export interface Commit {
  readonly parent: string | null
  readonly message: string
  readonly author: { readonly name: string; readonly email: string }
  readonly nowMs: number
}

export async function headOf(git: Git): Promise<string | null> {
  // Reading the ref file saves a git process.
  const text = (await readTextIfExists(join(git.repoDir, BRANCH_REF))) ?? ''
  if (/^[0-9a-f]{40}\n$/.test(text)) return text.trimEnd()
  const out = await runGit(git, ['for-each-ref', '--format=%(objectname)', BRANCH_REF])
  const name = out.toString('utf8').trim()
  return name === '' ? null : name
}

/** Anything but a regular file gets an object name that matches no content. */
export async function treeOf(git: Git, commit: string | null): Promise<Tree> {
  if (commit === null) return new Map()
  const out = await runGit(git, ['ls-tree', '-r', '-z', '--full-tree', commit])
  const lines = out.toString('utf8').split('\0').slice(0, -1)
  return new Map(
    lines.map((line) => {
      const [head, path] = splitOnce(line, '\t')
      const [mode, , name = ''] = head.split(' ')
      return [path, mode === REGULAR_FILE ? name : `${mode} ${name}`]
    }),
  )
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return [text.slice(0, at), text.slice(at + separator.length)]
}

export type BlobNames = Map<
  string,
  { readonly content: Uint8Array | string; readonly name: string }
>

export function treeOfFiles(
  files: ReadonlyMap<string, Uint8Array | string>,
  known: BlobNames = new Map(),
): Tree {
  const tree = new Map<string, string>()
  for (const [path, content] of files) {
    const before = known.get(path)
    const name = before?.content === content ? before.name : blobName(Buffer.from(content))
    known.set(path, { content, name })
    tree.set(path, name)
  }
  pruneMissing(known, tree)
  return tree
}

function blobName(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

export function treeDifference(from: Tree, to: Tree): { written: string[]; deleted: string[] } {
  return {
    written: [...to.keys()].filter((path) => from.get(path) !== to.get(path)).sort(),
    deleted: [...from.keys()].filter((path) => !to.has(path)).sort(),
  }
}

/** A truncated stream creates no commit. */
export const FAST_IMPORT = ['fast-import', '--quiet', '--done', '--date-format=raw'] as const

/** Paths and message may contain anything but NUL. */
export function fastImportStream(
  commit: Commit,
  files: ReadonlyMap<string, Uint8Array | string>,
  change: { readonly written: readonly string[]; readonly deleted: readonly string[] },
): Buffer {
  const { parent, message, author } = commit
  const seconds = Math.floor(commit.nowMs / 1000)
  const parts: Buffer[] = []
  const line = (text: string) => parts.push(Buffer.from(`${text}\n`, 'utf8'))
  const data = (bytes: Buffer) => {
    line(`data ${bytes.length}`)
    parts.push(bytes)
    line('')
  }
  line(`commit ${BRANCH_REF}`)
  line(`committer ${plainName(author.name)} <${plainName(author.email)}> ${seconds} +0000`)
  data(Buffer.from(message, 'utf8'))
  if (parent !== null) line(`from ${parent}`)
  for (const path of change.deleted) line(`D ${quoted(path)}`)
  for (const path of change.written) {
    line(`M ${REGULAR_FILE} inline ${quoted(path)}`)
    data(Buffer.from(files.get(path) ?? ''))
  }
  line('done')
  return Buffer.concat(parts)
}

function plainName(text: string): string {
  return text.replaceAll(/[<>\p{Cc}]/gu, '')
}

function quoted(path: string): string {
  const escaped = path
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
  return `"${escaped}"`
}
