import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { GitError, REMOTE_NAME, runGit } from '../../../builder/archive/git.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { serveDuringTest } from '../../support/local-server.ts'

test('git does not follow redirects of a remote', async () => {
  const visited: (string | undefined)[] = []
  const inside = await serveDuringTest((request, response) => {
    visited.push(request.url)
    response.writeHead(404).end()
  })
  const remote = await serveDuringTest((request, response) => {
    response.writeHead(302, { location: `${inside}${request.url}` }).end()
  })
  const git = { repoDir: join(tempFolder(), 'archive.git'), env: process.env, remote }
  await runGit(git, ['init', '--bare', '--quiet'])
  await expect(runGit(git, ['ls-remote', REMOTE_NAME])).rejects.toThrow(GitError)
  expect(visited).toEqual([])
})

test('a stalled ssh ends together with the git that takes too long', async () => {
  const dir = tempFolder()
  const pidFile = join(dir, 'pid')
  await writeFile(join(dir, 'ssh'), `#!/bin/sh\necho $$ > ${pidFile}\nexec sleep 600\n`, {
    mode: 0o755,
  })
  const git = {
    repoDir: join(dir, 'archive.git'),
    env: { PATH: `${dir}:${process.env['PATH'] ?? ''}` },
    remote: 'ssh://git@ledger.test/archive.git',
    timeoutMs: 1000,
  }
  await runGit({ ...git, timeoutMs: 60_000 }, ['init', '--bare', '-q'])
  await expect(runGit(git, ['ls-remote', REMOTE_NAME])).rejects.toThrow('took too long')
  const pid = Number(await readFile(pidFile, 'utf8'))
  await expect.poll(() => isRunning(pid)).toBe(false)
})

test('a process that outlives git with its output open does not outlast the time limit', async () => {
  const dir = tempFolder()
  const script = '#!/bin/sh\nsetsid sleep 30 &\nexit 0\n'
  await writeFile(join(dir, 'git'), script, { mode: 0o755 })
  const env = { PATH: `${dir}:${process.env['PATH'] ?? ''}` }
  const git = { repoDir: dir, env, remote: null, timeoutMs: 300 }
  await expect(runGit(git, ['fetch'])).rejects.toThrow('took too long')
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
