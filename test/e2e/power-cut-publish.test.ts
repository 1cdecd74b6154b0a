/**
 * Records a builder's file operations with strace. A power cut may lose data that was not flushed, so every file that a
 * reader can reach must be flushed before the set is published.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { beforeEach, afterEach, expect, test } from 'vitest'

import { readSet, versionsOf, workspace } from '../builder/publish/set.ts'
import type { Workspace } from '../builder/publish/set.ts'
import { expectNoSecrets } from '../support/no-secrets.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const tracedCalls = 'openat,write,pwrite64,mkdir,link,fsync,syncfs,rename,symlink,symlinkat'

const program = useProgram()
let place: Workspace

beforeEach(async () => {
  place = await workspace()
})
afterEach(() => {
  place.remove()
})

test('a small set is flushed file by file', () => {
  const flushes = recorded({ rails: 12, path: programs(['sync']) })
  expect(flushes).toMatchObject({ unflushed: [], ofTheFileSystem: 0 })
  expect(flushes.files).toBeGreaterThan(30)
})

test('a large set is flushed with its file system', () => {
  const flushes = recorded({ rails: 120, path: programs(['sync']) })
  expect(flushes).toMatchObject({ unflushed: [], ofTheFileSystem: 1 })
  expect(flushes.files).toBeGreaterThan(256)
})

test('a large set is flushed file by file where sync is not installed', () => {
  const flushes = recorded({ rails: 120, path: programs([]) })
  expect(flushes).toMatchObject({ unflushed: [], ofTheFileSystem: 0 })
})

test('a large set is flushed file by file where sync fails', () => {
  const flushes = recorded({ rails: 120, path: programs(['false as sync']) })
  expect(flushes).toMatchObject({ unflushed: [], ofTheFileSystem: 0 })
})

/** Creates a directory for PATH that contains only these programs. */
function programs(names: readonly string[]): string {
  const dir = join(place.root, 'bin')
  mkdirSync(dir)
  for (const name of names) {
    const [from = '', as = from] = name.split(' as ')
    symlinkSync(execFileSync('which', [from], { encoding: 'utf8' }).trim(), join(dir, as))
  }
  return dir
}

interface Flushes {
  readonly files: number
  readonly ofTheFileSystem: number
  /** Files and directories that were not flushed when the generation was renamed or made current. */
  readonly unflushed: readonly string[]
}

/** Publishes a set, then a second one under strace, in which most documents have changed. */
function recorded({ rails, path }: { rails: number; path: string }): Flushes {
  const publishing = [
    program.scriptOf('test/builder/publish/publish-child.ts'),
    place.publicDir,
    place.keysDir,
  ]
  const env = { PATH: path }
  const trace = join(place.root, 'trace')
  const strace = execFileSync('which', ['strace'], { encoding: 'utf8' }).trim()
  const first = [...publishing, '1', String(rails)]
  expectNoSecrets(execFileSync(process.execPath, first, { env, encoding: 'utf8' }))
  const flags = ['-f', '-y', '-qq', '-s', '300', '-e', `trace=${tracedCalls}`, '-o', trace]
  const command = [process.execPath, ...publishing, '2', String(rails)]
  expectNoSecrets(execFileSync(strace, [...flags, ...command], { env, encoding: 'utf8' }))
  expect(versionsOf(readSet(place.publicDir, place.keys.publicKeys))).toEqual([2])
  return flushesIn(readFileSync(trace, 'utf8'), place.publicDir)
}

/** A write takes effect at its start, any other call at its end. */
function flushesIn(trace: string, publicDir: string): Flushes {
  const building = join(publicDir, 'generations/.building')
  const dirty = new Set<string>()
  const written = new Set<string>()
  const unflushed: string[] = []
  const underWay = new Map<string, string>()
  let ofTheFileSystem = 0
  for (const line of trace.split('\n')) {
    const [, thread = '', text = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? []
    if (text.endsWith('<unfinished ...>')) {
      underWay.set(thread, text.slice(0, -'<unfinished ...>'.length))
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1]
    const call = resumed === undefined ? text : `${underWay.get(thread)}${resumed}`
    if (!/ = \d+(?:<.*>)?$/.test(call)) continue
    const [, name = ''] = /^(\w+)\(/.exec(call) ?? []
    const named = [...call.matchAll(/"(\/[^"]*)"/g)].map(([, quoted = '']) => quoted)
    const [, opened = ''] = /^\w+\(\d+<(\/[^>]*)>/.exec(call) ?? []
    const [path = '', target = ''] = opened === '' ? named : [opened]
    const inside = (at: string): boolean => at === building || at.startsWith(`${building}/`)
    if (name === 'openat' && call.includes('O_CREAT') && inside(path)) {
      written.add(path)
      dirty.add(path).add(dirname(path))
    }
    if ((name === 'write' || name === 'pwrite64') && inside(path)) dirty.add(path)
    if (name === 'mkdir' && inside(path)) dirty.add(path).add(dirname(path))
    if (name === 'link' && inside(target)) dirty.add(dirname(target))
    if (name === 'fsync') dirty.delete(path)
    if (name === 'syncfs') {
      ofTheFileSystem += 1
      dirty.clear()
    }
    if (name === 'rename' && path === building) {
      unflushed.push(...[...dirty].filter(inside))
      dirty.clear()
      dirty.add(dirname(building))
    }
    if (name === 'rename' && target === join(publicDir, 'current')) {
      unflushed.push(...dirty)
      dirty.clear()
      dirty.add(publicDir)
    }
  }
  // The last flush must be that of the new `current` link.
  unflushed.push(...[...dirty].filter((at) => at === publicDir))
  return { files: written.size, ofTheFileSystem, unflushed }
}
