/** The first minutes of a newcomer: a fresh clone with only `PORT` set, a write, a restart, the demo, development mode. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { runCommand } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { freePort } from '../support/server-process.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'

allowSlowTests('watches a service for 90 s')

const repository = new URL('../..', import.meta.url).pathname
const watchedMs = 90_000
/** A build that a write requested, not that of the schedule, which comes once a minute. */
const publishedWithin = { timeout: 30_000, interval: 50 }

let folder: string
let clone: string
let port: string

const git = (...args: string[]) => execFileSync('git', args, { cwd: clone, encoding: 'utf8' })

/** Runs until the end of the test at the latest. */
function npm(...args: string[]): Running {
  const running = runCommand('npm', args, { PORT: port, HOME: folder }, clone)
  onTestFinished(async () => {
    running.kill('SIGTERM')
    await running.ended
  })
  return running
}

/** A clone of the work tree, with what is not committed yet. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-defaults-'))
  clone = join(folder, 'clone')
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const files = execFileSync('git', listed, { cwd: repository, encoding: 'utf8' })
  for (const file of new Set(files.split('\0'))) {
    if (file === '' || !existsSync(join(repository, file))) continue
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(join(repository, file), join(clone, file), { force: true })
  }
  symlinkSync(join(repository, 'node_modules'), join(clone, 'node_modules'))
  git('init', '-q')
  git('add', '--all')
  git('-c', 'user.name=test', '-c', 'user.email=test@ledger.test', 'commit', '-q', '-m', 'clone')
  port = String(await freePort())
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function read(path: string): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${port}${path}`)).text()
}

/** Registers a worker and waits until the published list contains it. */
async function register(name: string): Promise<void> {
  const worker = { display_name: name, skills: ['agent-news-reporting'] }
  const body = await signedBody(nearWallet(name), 'register', worker, { nowMs: Date.now() })
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/workers/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(201)
  await expect.poll(() => read('/api/v1/workers'), publishedWithin).toContain(name)
}

/** Lines that report a failure. Without a network no rail can be read, which is the only failure that is allowed. */
function failures(running: Running): readonly string[] {
  const lines = running.output().split('\n')
  return lines
    .filter((line) => /"level":"error"|overlap prevention/.test(line))
    .filter((line) => !/job poll failed.*?(\d+) rails polled, \1 failed/.test(line))
}

async function stop(running: Running): Promise<void> {
  running.kill('SIGTERM')
  expect(await running.ended).toBe(0)
  expect(failures(running)).toEqual([])
  expect(running.output().split('.env not found').length).toBeLessThan(3)
  expect(git('status', '--porcelain')).toBe('')
}

test('npm start publishes a write, keeps it over a restart, and runs without a failed job', async () => {
  const first = npm('start')
  await first.says('"message":"serving"')
  await register('early-worker')
  await stop(first)
  expect(first.output()).toContain('"message":"job poll stopped"')

  const second = npm('start')
  await second.says('"message":"listening"')
  expect(await read('/api/v1/workers')).toContain('early-worker')
  await register('later-worker')
  await delay(watchedMs)
  expect(JSON.parse(await read('/api/v1/health'))).toMatchObject({
    database: 'ok',
    jobs: { build: { outcome: 'ok' } },
  })
  await stop(second)
})

test.each(['demo', 'dev'])('npm run %s publishes in the folder of npm start', async (script) => {
  const demo = npm('run', script)
  await demo.says('"message":"listening"')
  await demo.says('"message":"serving"')
  expect(await read('/')).toContain('Demo ledger: ')
  await stop(demo)
})
