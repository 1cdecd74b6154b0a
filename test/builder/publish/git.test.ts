import { join } from 'node:path'

import { expect, test } from 'vitest'

import { GitError, REMOTE_NAME, runGit } from '../../../builder/publish/git.ts'
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
