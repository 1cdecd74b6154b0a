/** A clone of the work tree, with what is not committed yet. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'

import { runCommand } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { freePort } from '../support/server-process.ts'

const repository = new URL('../..', import.meta.url).pathname

/** Deletes it after the tests of the file. All scripts use the same port. */
export function useClone() {
  let folder: string
  let port: string
  const dir = () => join(folder, 'clone')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: dir(), encoding: 'utf8' })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ledger-clone-'))
    mkdirSync(dir())
    const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
    const files = execFileSync('git', listed, { cwd: repository, encoding: 'utf8' })
    for (const file of new Set(files.split('\0'))) {
      if (file === '' || !existsSync(join(repository, file))) continue
      mkdirSync(dirname(join(dir(), file)), { recursive: true })
      cpSync(join(repository, file), join(dir(), file), { force: true })
    }
    symlinkSync(join(repository, 'node_modules'), join(dir(), 'node_modules'))
    git('init', '-q')
    git('add', '--all')
    git('-c', 'user.name=test', '-c', 'user.email=test@ledger.test', 'commit', '-q', '-m', 'clone')
    port = String(await freePort())
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  return {
    dir,
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    /** Runs a script until the end of the test at the latest. */
    start: (script: string, settings: Readonly<Record<string, string>> = {}): Running => {
      const env = { PORT: port, HOME: folder, ...settings }
      const running = runCommand('npm', ['run', script], env, dir())
      onTestFinished(async () => {
        running.kill('SIGTERM')
        await running.ended
      })
      return running
    },
    /** Fails if the log reports a failure, or if git would add a file. */
    stop: async (running: Running): Promise<void> => {
      running.kill('SIGTERM')
      expect(await running.ended).toBe(0)
      expect(failures(running)).toEqual([])
      expect(running.output().split('.env not found').length).toBeLessThan(3)
      expect(git('status', '--porcelain')).toBe('')
    },
  }
}

/** Lines that report a failure. Without a network no rail can be read, which is the only failure that is allowed. */
function failures(running: Running): readonly string[] {
  const lines = running.output().split('\n')
  return lines
    .filter((line) => /"level":"error"|overlap prevention/.test(line))
    .filter((line) => !/job poll failed.*?(\d+) rails polled, \1 failed/.test(line))
}
