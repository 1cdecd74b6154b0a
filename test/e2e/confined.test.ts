/**
 * Least privilege: in a whole life of a ledger (a start from nothing, a poll, builds, a write, a backup, a stop) no
 * process opens, makes, moves or removes a file outside of the two folders that it was given. strace sees every call,
 * also those of the programs that it starts.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { installProgram } from '../support/program.ts'
import type { Program } from '../support/program.ts'

const calls =
  'open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,truncate,chmod,fchmodat,chown,fchownat,mknod,mknodat'

let program: Program
let root: string

beforeAll(() => {
  program = installProgram()
  root = mkdtempSync(join(tmpdir(), 'ledger-confined-'))
  for (const name of ['data', 'public', 'elsewhere']) mkdirSync(join(root, name))
})

afterAll(() => {
  program.remove()
  rmSync(root, { recursive: true, force: true })
})

test('nothing is written outside of DATA_DIR and PUBLIC_DIR', async () => {
  const trace = join(root, 'trace.txt')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(root, 'elsewhere'),
    TMPDIR: join(root, 'elsewhere'),
    DATA_DIR: join(root, 'data'),
    PUBLIC_DIR: join(root, 'public'),
    PORT: '0',
  }
  const traced = ['-D', '-f', '-q', '-y', '-s', '4096', '-e', `trace=${calls}`, '-o', trace]
  const child = spawn('strace', [...traced, process.execPath, program.service], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const listening = /"message":"listening".*?"port":(\d+)/
  await expect.poll(() => output).toMatch(listening)
  const port = listening.exec(output)?.[1] ?? ''
  // Not by asking for a document: the limits are on, and a slow first build would use them up.
  await expect.poll(() => existsSync(join(env.PUBLIC_DIR, 'current'))).toBe(true)
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'It works.' }),
  })
  expect(answer.status).toBe(201)
  const backup = join(root, 'data', 'backup.db')
  execFileSync(
    process.execPath,
    [program.scriptOf('scripts/cli/main.ts'), 'admin', 'backup', backup],
    { env },
  )
  child.kill('SIGTERM')
  await ended
  const isOver = new RegExp(`^${child.pid} +\\+\\+\\+ exited`, 'm')
  await expect.poll(() => isOver.test(readFileSync(trace, 'utf8'))).toBe(true)
  const outside = written(readFileSync(trace, 'utf8')).filter(
    (path) =>
      !path.startsWith(env.DATA_DIR) &&
      !path.startsWith(env.PUBLIC_DIR) &&
      !path.startsWith('/dev/'),
  )
  expect([...new Set(outside)]).toEqual([])
})

/** Paths that a call changed, or opened for writing, and that it reached. */
function written(trace: string): string[] {
  return trace.split('\n').flatMap((line) => {
    if (/= -1 /.test(line)) return []
    const isOpen = /\b(?:open|openat|openat2)\(/.test(line)
    if (isOpen && !/O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(line)) return []
    // A path is absolute, or stands behind the folder that it is relative to.
    const paths = [...line.matchAll(/(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"/g)].map(
      ([, folder, path = '']) => (path.startsWith('/') ? path : `${folder ?? '?'}/${path}`),
    )
    // What a symbolic link says is text: only the link itself is made.
    return / symlink(?:at)?\(/.test(line) ? paths.slice(1) : paths
  })
}
