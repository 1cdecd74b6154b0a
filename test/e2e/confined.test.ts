/**
 * Least privilege: from the first start to a backup no process writes outside of its two folders. strace records every
 * call of all processes. As root the test runs the ledger as another user, who owns only these folders.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { runCommand } from '../support/program.ts'
import { leavesNothingOut } from '../support/runnable.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { addressOf, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const calls =
  'open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,truncate,chmod,fchmodat,chown,fchownat,mknod,mknodat'
const isRoot = process.getuid?.() === 0
/** Debian's `nobody`, who owns no file. */
const user = 65_534

const program = useProgram()
let root: string
/** The prefix of a command that runs it as another user; empty if that is impossible. */
let asUser: readonly string[]

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ledger-confined-'))
  for (const name of ['data', 'public', 'elsewhere']) mkdirSync(join(root, name))
  asUser = isRoot ? otherUser() : []
})

afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

function otherUser(): readonly string[] {
  for (const folder of [root, program.dir]) chmodSync(folder, 0o755)
  for (const name of ['data', 'public']) chownSync(join(root, name), user, user)
  const plain = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups']
  const [command, ...args] = [...plain, process.execPath, '--check', realEntry()]
  if (spawnSync(command, args).status === 0) return plain
  // The repository lies where others have no way to it: the user may read everything, and write no more than before.
  return [...plain, '--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search']
}

/** A file of a dependency, at its own place. */
function realEntry(): string {
  return execFileSync('realpath', [join(program.dir, 'node_modules/kysely/dist/cjs/index.js')])
    .toString()
    .trim()
}

test('service and builder write nothing outside of DATA_DIR and PUBLIC_DIR', async () => {
  const env = {
    HOME: join(root, 'elsewhere'),
    TMPDIR: join(root, 'elsewhere'),
    DATA_DIR: join(root, 'data'),
    PUBLIC_DIR: join(root, 'public'),
    PORT: '0',
  }
  const traced = (name: string, script: string, ...args: readonly string[]) => {
    const trace = join(root, `${name}.trace`)
    const how = ['-D', '-f', '-q', '-y', '-s', '4096', '-e', `trace=${calls}`, '-o', trace]
    const running = runCommand(
      'strace',
      [...how, ...asUser, process.execPath, script, ...args],
      env,
    )
    onTestFinished(async () => {
      running.kill('SIGKILL')
      await running.ended
    })
    /** Paths that were written to until it ended. */
    const paths = async () => {
      const code = await running.ended
      expect({ name, code }).toEqual({ name, code: 0 })
      const isOver = new RegExp(`^${running.pid} +\\+\\+\\+ exited`, 'm')
      await expect.poll(() => isOver.test(readFileSync(trace, 'utf8'))).toBe(true)
      return written(readFileSync(trace, 'utf8'))
    }
    return { ...running, paths }
  }
  const service = traced('service', program.service)
  const url = await addressOf(service)
  // Not by asking for a document: the limits are on, and a slow first build would use them up.
  await expect.poll(() => existsSync(join(env.PUBLIC_DIR, 'current'))).toBe(true)
  const answer = await fetch(`${url}/api/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'It works.' }),
  })
  expect(answer.status).toBe(201)
  const file = join(env.DATA_DIR, 'backup.db')
  const backup = traced('backup', program.scriptOf('scripts/cli/main.ts'), 'admin', 'backup', file)
  const byBackup = await backup.paths()
  service.kill('SIGTERM')
  const byService = await service.paths()

  const outside = [...byService, ...byBackup].filter(
    (path) =>
      !path.startsWith(`${env.DATA_DIR}/`) &&
      !path.startsWith(`${env.PUBLIC_DIR}/`) &&
      !path.startsWith('/dev/'),
  )
  expect([...new Set(outside)]).toEqual([])
  // What was seen is what they did: the service, its builder, git, the backup.
  const seen = [
    join(env.DATA_DIR, 'ledger.db'),
    join(env.PUBLIC_DIR, 'current'),
    join(env.DATA_DIR, 'snapshots.git/refs/heads/main'),
  ]
  expect(seen.filter((path) => !byService.some((other) => other.startsWith(path)))).toEqual([])
  expect(byBackup.some((path) => path.startsWith(file))).toBe(true)
  expect(statSync(file).uid).toBe(isRoot ? user : process.getuid?.())
})

// Only root can become another user; where it was not tried, the report says so.
test.runIf(isRoot || leavesNothingOut)(
  'service and builder run as a user that can write nowhere else',
  () => {
    expect(isRoot).toBe(true)
    const [command, ...args] = [...asUser, process.execPath, '-e']
    const touch = 'fs.closeSync(fs.openSync(process.argv[1], "a"))'
    const said = (path: string): string =>
      spawnSync(command, [...args, touch, path], { encoding: 'utf8' }).stderr
    for (const folder of ['data', 'public']) expect(said(join(root, folder, 'mine'))).toBe('')
    const code = [program.service, join(program.dir, 'another.js'), realEntry(), 'package.json']
    for (const path of [...code, join(root, 'elsewhere/not-mine'), join(root, 'not-mine')]) {
      expect(said(path)).toContain('EACCES')
    }
  },
)

/** Paths that a call changed, or opened for writing, and that it reached or was kept from. */
function written(trace: string): string[] {
  return wholeCalls(trace).flatMap((line) => {
    // What the user was kept from counts as if it had been done.
    if (/= -1 (?!EACCES|EPERM|EROFS)/.test(line)) return []
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

/** Lines of a trace, in which a call that others interrupted stands in one piece, with what came of it. */
function wholeCalls(trace: string): string[] {
  const begun = new Map<string, string>()
  const calls = trace.split('\n').flatMap((line) => {
    const [, pid = '', start] = /^(\d+) +(.*) <unfinished \.\.\.>$/.exec(line) ?? []
    if (start !== undefined) {
      begun.set(pid, `${pid} ${start}`)
      return []
    }
    const [, waiting = '', rest] = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/.exec(line) ?? []
    const call = begun.get(waiting)
    if (rest === undefined || call === undefined) return [line]
    begun.delete(waiting)
    return [`${call}${rest}`]
  })
  // Who was killed within a call may have done what it asked for.
  return [...calls, ...begun.values()]
}
