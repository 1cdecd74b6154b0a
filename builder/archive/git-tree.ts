/** Reads the files of an archive commit, and builds the stream that creates one. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { readTextIfExists } from '../cache/stat-fingerprint.ts'
import { AUTHOR, runGit } from './git.ts'
import type { Git } from './git.ts'

export const BRANCH = 'main'
export const BRANCH_REF = `refs/heads/${BRANCH}`
const regularFile = '100644'

export async function headOf(git: Git): Promise<string | null> {
  // Reading the ref file saves a git process.
  const text = (await readTextIfExists(join(git.repoDir, BRANCH_REF))) ?? ''
  if (/^[0-9a-f]{40}\n$/.test(text)) return text.trimEnd()
  const out = await runGit(git, ['for-each-ref', '--format=%(objectname)', BRANCH_REF])
  const name = out.toString('utf8').trim()
  return name === '' ? null : name
}

/** The object names of the files of a commit by path. Anything but a regular file gets a name that no content has. */
export async function treeOf(git: Git, commit: string): Promise<ReadonlyMap<string, string>> {
  const out = await runGit(git, ['ls-tree', '-r', '-z', '--full-tree', commit])
  const lines = out.toString('utf8').split('\0').slice(0, -1)
  return new Map(
    lines.map((line) => {
      const [, mode = '', name = '', path = ''] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? []
      return [path, mode === regularFile ? name : mode]
    }),
  )
}

export function blobName(text: string): string {
  return createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0`)
    .update(text)
    .digest('hex')
}

export interface Commit {
  readonly parent: string | null
  readonly message: string
  readonly nowMs: number
  readonly deleted: readonly string[]
  readonly written: readonly (readonly [path: string, text: string])[]
}

/** A truncated stream creates no commit, and neither does one whose parent is no longer the head of the branch. */
export const FAST_IMPORT = ['fast-import', '--quiet', '--done', '--date-format=raw'] as const

/** Paths and message may contain anything but NUL. */
export function fastImportStream(commit: Commit): string {
  const { parent, message, nowMs, deleted, written } = commit
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  return [
    `commit ${BRANCH_REF}\n`,
    `committer ${AUTHOR.name} <${AUTHOR.email}> ${Math.floor(nowMs / 1000)} +0000\n`,
    data(message),
    ...(parent === null ? [] : [`from ${parent}\n`]),
    ...deleted.map((path) => `D ${quoted(path)}\n`),
    ...written.map(([path, text]) => `M ${regularFile} inline ${quoted(path)}\n${data(text)}`),
    'done\n',
  ].join('')
}

function quoted(path: string): string {
  const escaped = path
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
  return `"${escaped}"`
}
