/** Records all file operations of service, builder and backup with strace: none writes outside DATA_DIR and PUBLIC_DIR. */
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
/** Debian's `nobody`. */
const user = 65_534

const program = useProgram()
let root: string
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
  // Other users cannot read the repository, so this user may read every file, but write no more than before.
  return [...plain, '--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search']
}

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
  // Polls the folder, since polling a document would exceed the rate limit during a slow first build.
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
  // The traces cover the service, its builder, git and the backup.
  const expected = [
    join(env.DATA_DIR, 'ledger.db'),
    join(env.PUBLIC_DIR, 'current'),
    join(env.DATA_DIR, 'snapshots.git.new/refs/heads/main'),
  ]
  expect(expected.filter((path) => !byService.some((other) => other.startsWith(path)))).toEqual([])
  expect(byBackup.some((path) => path.startsWith(file))).toBe(true)
  expect(statSync(file).uid).toBe(isRoot ? user : process.getuid?.())
})

// Only root can switch the user; otherwise the test is reported as skipped.
test.runIf(isRoot || leavesNothingOut)(
  'service and builder run as a user that can write nowhere else',
  () => {
    expect(isRoot).toBe(true)
    const [command, ...args] = [...asUser, process.execPath, '-e']
    const touch = 'fs.closeSync(fs.openSync(process.argv[1], "a"))'
    const errorOf = (path: string): string =>
      spawnSync(command, [...args, touch, path], { encoding: 'utf8' }).stderr
    for (const folder of ['data', 'public']) expect(errorOf(join(root, folder, 'mine'))).toBe('')
    const code = [program.service, join(program.dir, 'another.js'), realEntry(), 'package.json']
    for (const path of [...code, join(root, 'elsewhere/not-mine'), join(root, 'not-mine')]) {
      expect(errorOf(path)).toContain('EACCES')
    }
  },
)

/** Paths that the traced calls changed or opened for writing, including calls without permission. */
function written(trace: string): string[] {
  return wholeCalls(trace).flatMap((line) => {
    // A call refused for lack of permission counts too.
    if (/= -1 (?!EACCES|EPERM|EROFS)/.test(line)) return []
    const isOpen = /\b(?:open|openat|openat2)\(/.test(line)
    if (isOpen && !/O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/.test(line)) return []
    // strace prints the folder before a relative path.
    const paths = [...line.matchAll(/(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"/g)].map(
      ([, folder, path = '']) => (path.startsWith('/') ? path : `${folder ?? '?'}/${path}`),
    )
    // The first argument of `symlink` is the target, which is not written.
    return / symlink(?:at)?\(/.test(line) ? paths.slice(1) : paths
  })
}

/** Lines of a trace, with interrupted calls joined with their results. */
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
  // A call that was interrupted by a kill may have succeeded.
  return [...calls, ...begun.values()]
}
