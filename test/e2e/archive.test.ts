import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'

import { archive, emptyArchiveMemory } from '../../builder/archive/archive.ts'
import type { ArchiveOptions } from '../../builder/archive/archive.ts'
import { withoutCredentials } from '../../builder/archive/git.ts'
import { LeaseLostError } from '../../src/db/leases.ts'
import { filesBelow, startMs } from '../builder/publish/set.ts'
import { tempFolder } from '../db/temp-database.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('runs git')

let root: string
let repoDir: string
let remote: string

beforeEach(() => {
  root = tempFolder()
  repoDir = join(root, 'snapshots.git')
  remote = join(root, 'remote.git')
})

const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }
const olas = (status: string) => `{\n  "status": "${status}"\n}\n`
const filesWith = (status: string) =>
  new Map([
    ['api/v1/rails.json', '{\n  "count": 1\n}\n'],
    ['api/v1/rails/olas.json', olas(status)],
  ])
const moved = { files: filesWith('concentrated'), message: 'rails: olas paying → concentrated\n' }

async function record(more: Partial<ArchiveOptions> = {}) {
  return await archive({
    repoDir,
    files: filesWith('paying'),
    message: 'rails: first\n\nbody\n',
    nowMs: startMs,
    remote: null,
    env,
    ...more,
  })
}

const recordStatus = async (status: string, more: Partial<ArchiveOptions> = {}) =>
  await record({ files: filesWith(status), message: `${status}\n`, ...more })

function git(dir: string, ...args: string[]): string {
  return execFileSync('git', [`--git-dir=${dir}`, ...args], { encoding: 'utf8', stdio: 'pipe' })
}
const subjects = (dir: string) => git(dir, 'log', '--format=%s', 'main').trim().split('\n')
const head = () => git(repoDir, 'rev-parse', 'main').trim()

function expectIntact(...options: string[]): void {
  expect(git(repoDir, 'fsck', '--full', '--strict', ...options)).toBe('')
}

function bareRemote(dir = remote): void {
  execFileSync('git', ['init', '--bare', '--quiet', dir])
}

describe('the archive', () => {
  test('a first commit contains every file, with message, author and time of the build', async () => {
    const first = await record()
    expect(first).toMatchObject({ state: 'ok', behind: null, error: null })
    const log = git(repoDir, 'log', '--format=%H|%an|%ae|%aI|%cI|%B', 'main').trim()
    expect(log).toBe(
      `${first.committed}|Agent Income Ledger|ledger@localhost|2026-11-21T06:00:00+00:00|2026-11-21T06:00:00+00:00|rails: first\n\nbody`,
    )
    expect(git(repoDir, 'show', 'main:api/v1/rails/olas.json')).toBe(olas('paying'))
  })

  test('a build that changes no file makes no commit', async () => {
    const first = await record()
    const again = await record({ nowMs: startMs + 60_000 })
    expect(again).toMatchObject({ state: 'ok', committed: null })
    expect(head()).toBe(first.committed)
  })

  test('a commit contains exactly the changed, added and removed files', async () => {
    await record()
    const files = new Map([
      ['api/v1/rails/olas.json', olas('dormant')],
      ['odd "name" é.txt', 'text\0with NUL\n'],
    ])
    await record({ files, message: 'rails: moved\n' })
    expect(git(repoDir, '-c', 'core.quotePath=off', 'diff', '--name-status', 'main~', 'main')).toBe(
      'D\tapi/v1/rails.json\nM\tapi/v1/rails/olas.json\nA\t"odd \\"name\\" é.txt"\n',
    )
    expectIntact()
  })

  test('a commit of another process becomes the parent of the next one', async () => {
    const memory = emptyArchiveMemory()
    await record({ memory })
    await recordStatus('dormant', { memory })
    // Another builder commits in between: its commit is read and becomes the parent of the next one.
    await recordStatus('another')
    const next = await recordStatus('concentrated', { memory })
    expect(next).toMatchObject({ state: 'ok' })
    expect(subjects(repoDir)).toEqual(['concentrated', 'another', 'dormant', 'rails: first'])
    expectIntact('--no-dangling')
  })

  test('the archive ignores git settings and hooks of the machine', async () => {
    await record()
    const hooks = join(repoDir, 'hooks')
    mkdirSync(hooks)
    const trap = join(root, 'ran')
    for (const hook of ['reference-transaction', 'post-commit', 'pre-push', 'pre-auto-gc']) {
      writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch ${trap}\nexit 1\n`)
      chmodSync(join(hooks, hook), 0o755)
    }
    writeFileSync(join(root, '.gitconfig'), '[core]\n\thooksPath = ' + hooks + '\n')
    bareRemote()
    const outcome = await record({ ...moved, remote, env: { ...env, HOME: root } })
    expect(outcome).toMatchObject({ state: 'ok', behind: 0 })
    expect(existsSync(trap)).toBe(false)
  })

  test('the archive removes old lock files of git and respects fresh ones', async () => {
    await record()
    const lock = join(repoDir, 'refs/heads/main.lock')
    writeFileSync(lock, '')
    const { mtimeMs } = statSync(lock)
    const waiting = await record({ ...moved, nowMs: mtimeMs + 1000 })
    expect(waiting).toMatchObject({ state: 'failed', committed: null })
    expect(waiting.error).toContain('main.lock')
    utimesSync(lock, (mtimeMs - 130_000) / 1000, (mtimeMs - 130_000) / 1000)
    expect(await record({ ...moved, nowMs: mtimeMs + 1000 })).toMatchObject({ state: 'ok' })
    expect(subjects(repoDir)).toHaveLength(2)
  })

  test('of two builders that commit at once, one succeeds and one fails', async () => {
    const outcomes = await Promise.all([record(), record()])
    expect(outcomes.map(({ state }) => state).sort()).toEqual(['failed', 'ok'])
    expect(subjects(repoDir)).toHaveLength(1)
  })

  test('a deleted archive is created again, and foreign files in it are ignored', async () => {
    await record()
    writeFileSync(join(repoDir, 'index'), 'not an index')
    writeFileSync(join(repoDir, 'notes.txt'), 'dirty')
    expect(await record(moved)).toMatchObject({ state: 'ok' })
    rmSync(repoDir, { recursive: true })
    expect(await record(moved)).toMatchObject({ state: 'ok' })
    expect(subjects(repoDir)).toEqual(['rails: olas paying → concentrated'])
  })
})

describe('a damaged archive fails each build until it is moved', () => {
  const objects = () =>
    filesBelow(join(repoDir, 'objects')).map((file) => join(repoDir, 'objects', file))
  const damages: [string, () => void][] = [
    ['a lost branch', () => rmSync(join(repoDir, 'refs/heads/main'))],
    ['an emptied branch', () => truncateSync(join(repoDir, 'refs/heads/main'), 0)],
    ['lost objects', () => objects().forEach((file) => rmSync(file))],
    ['emptied objects', () => objects().forEach(empty)],
    ['no HEAD', () => rmSync(join(repoDir, 'HEAD'))],
    ['no repository', () => readdirSync(repoDir).forEach(remove)],
  ]
  const processes = [
    ['in a new process', () => undefined],
    ['in the same process', emptyArchiveMemory],
  ] as const

  describe.each(processes)('%s', (where, memoryOf) => {
    test.each(damages)(`an archive with %s fails builds ${where}`, async (_damage, damage) => {
      const memory = memoryOf()
      const remembered = memory === undefined ? {} : { memory }
      await record(remembered)
      await record({ ...moved, ...remembered })
      damage()
      for (const status of ['dormant', 'potemkin']) {
        const outcome = await recordStatus(status, remembered)
        expect(outcome).toMatchObject({ state: 'failed', committed: null })
        expect(outcome.error).not.toBeNull()
      }
      renameSync(repoDir, `${repoDir}.broken`)
      expect(await recordStatus('dormant', remembered)).toMatchObject({ state: 'ok', error: null })
      expect(subjects(repoDir)).toEqual(['dormant'])
      expectIntact()
    })
  })

  test('a new archive continues the history of the remote', async () => {
    bareRemote()
    await record({ remote })
    renameSync(repoDir, `${repoDir}.broken`)
    expect(await record({ ...moved, remote })).toMatchObject({ state: 'ok', behind: 0 })
    expect(subjects(remote)).toEqual(['rails: olas paying → concentrated', 'rails: first'])
  })

  function empty(file: string) {
    chmodSync(file, 0o644)
    truncateSync(file, 0)
  }

  function remove(name: string) {
    rmSync(join(repoDir, name), { recursive: true })
    writeFileSync(join(repoDir, `${name}.txt`), '')
  }
})

describe('the remote', () => {
  test('the remote gets every commit', async () => {
    bareRemote()
    const pushed = { state: 'ok', behind: 0 }
    expect(await record({ remote })).toMatchObject(pushed)
    expect(await record({ ...moved, remote })).toMatchObject(pushed)
    expect(subjects(remote)).toEqual(['rails: olas paying → concentrated', 'rails: first'])
    expect(git(remote, 'rev-parse', 'main')).toBe(git(repoDir, 'rev-parse', 'main'))
  })

  test('an unreachable remote is reported with its number of missing commits and gets them later', async () => {
    bareRemote()
    await record({ remote })
    renameSync(remote, `${remote}.moved`)
    for (const [index, status] of ['dormant', 'potemkin', 'paying'].entries()) {
      const outcome = await recordStatus(status, { remote })
      expect(outcome).toMatchObject({ state: 'failed', behind: index + 1 })
      expect(outcome.committed).toMatch(/^[0-9a-f]{40}$/)
      expect(outcome.error).toContain('git push')
    }
    renameSync(`${remote}.moved`, remote)
    const later = await record({ files: filesWith('paying'), remote })
    expect(later).toMatchObject({ state: 'ok', committed: null, behind: 0 })
    expect(subjects(remote)).toHaveLength(4)
  })

  test('a remote that has every commit is not contacted', async () => {
    bareRemote()
    await record({ remote })
    rmSync(remote, { recursive: true })
    expect(await record({ remote })).toMatchObject({ state: 'ok', committed: null, behind: 0 })
  })

  test('a new remote gets the whole history', async () => {
    bareRemote()
    await record({ remote })
    const other = join(root, 'other.git')
    bareRemote(other)
    const outcome = await record({ remote: other })
    expect(outcome).toMatchObject({ committed: null, behind: 0 })
    expect(subjects(other)).toEqual(['rails: first'])
  })

  test('a remote with another history is never overwritten', async () => {
    bareRemote()
    await record({ repoDir: join(root, 'other.git'), message: 'another history\n', remote })
    await record()
    const outcome = await record({ ...moved, remote })
    expect(outcome).toMatchObject({ state: 'failed', behind: 2 })
    expect(subjects(remote)).toEqual(['another history'])
  })

  test('a builder on a fresh machine continues the history of the remote, and so does the first one', async () => {
    bareRemote()
    const second = { repoDir: join(root, 'second.git'), remote }
    await record({ remote })
    expect(await recordStatus('second', second)).toMatchObject({ state: 'ok', behind: 0 })
    // The first machine has a commit that it could not push.
    await recordStatus('unpushed')
    const unpushed = head()
    const outcome = await recordStatus('first again', { remote })
    expect(outcome).toMatchObject({ state: 'ok', behind: 0, error: null })
    expect(outcome.committed).toBe(head())
    expect(subjects(remote)).toEqual(['first again', 'second', 'rails: first'])
    expect(git(repoDir, 'for-each-ref', '--contains', unpushed, 'refs/superseded')).not.toBe('')
    expect(await recordStatus('second again', second)).toMatchObject({ state: 'ok', behind: 0 })
    expect(subjects(remote)).toHaveLength(4)
    expectIntact('--no-dangling')
  })

  test('a builder whose lease was taken while it committed pushes nothing', async () => {
    bareRemote()
    await record({ remote })
    const check = () => Promise.reject(new LeaseLostError('lost'))
    const committing = record({ ...moved, remote, check })
    await expect(committing).rejects.toThrow(LeaseLostError)
    expect(subjects(remote)).toEqual(['rails: first'])
  })

  test('a fresh machine that could not reach the remote continues its history later', async () => {
    bareRemote()
    await record({ remote })
    renameSync(remote, `${remote}.moved`)
    const fresh = { repoDir: join(root, 'fresh.git'), remote }
    expect(await record(fresh)).toMatchObject({ state: 'failed', committed: null, behind: null })
    renameSync(`${remote}.moved`, remote)
    expect(await record({ ...moved, ...fresh })).toMatchObject({ state: 'ok', behind: 0 })
    expect(subjects(remote)).toEqual(['rails: olas paying → concentrated', 'rails: first'])
  })

  test('credentials of the remote appear neither in outcomes nor in the repository', async () => {
    const secret = 'http://robot:s3cr%40t-token@127.0.0.1:9/ledger.git?key=t0psecret'
    await record()
    const outcome = await record({ remote: secret })
    expect(outcome).toMatchObject({ state: 'failed', behind: 1 })
    expect(outcome.error).toContain('127.0.0.1')
    const texts = filesBelow(repoDir).map((file) => readFileSync(join(repoDir, file), 'latin1'))
    for (const text of [outcome.error ?? '', ...texts]) {
      expect(text).not.toMatch(/s3cr|t0psecret|robot/)
    }
  })

  test.each([
    [
      'https://token@host/x.git',
      'fatal: https://token@host/x.git and token',
      'fatal: https://host/x.git and ***',
    ],
    ['https://u:p%40ss@host/x', 'p@ss p%40ss u', '*** *** ***'],
    ['git@host:x.git', 'fatal: git@host:x.git', 'fatal: git@host:x.git'],
  ])('credentials of %s are removed: the message %j becomes %j', (address, message, clean) => {
    expect(withoutCredentials(message, address)).toBe(clean)
  })
})
