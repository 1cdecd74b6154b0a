import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { GitError, REMOTE_NAME, runGit } from '../../../builder/publish/git.ts'
import { tempFolder } from '../../db/temp-database.ts'

async function serve(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

test('git does not follow redirects of a remote', async () => {
  const visited: (string | undefined)[] = []
  const inside = await serve((request, response) => {
    visited.push(request.url)
    response.writeHead(404).end()
  })
  const remote = await serve((request, response) => {
    response.writeHead(302, { location: `${inside}${request.url}` }).end()
  })
  const git = { repoDir: join(tempFolder(), 'archive.git'), env: process.env, remote }
  await runGit(git, ['init', '--bare', '--quiet'])
  await expect(runGit(git, ['ls-remote', REMOTE_NAME])).rejects.toThrow(GitError)
  expect(visited).toEqual([])
})
