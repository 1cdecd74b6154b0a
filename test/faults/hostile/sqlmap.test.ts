/** Debian's `sqlmap`, where it is installed: what finds holes in other people's statements finds none here. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { publicDir, sampleDocuments, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'
import { isRunnable } from '../../support/runnable.ts'

let published: PublicDir
let service: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  service = await startService(published.dir)
})

afterAll(async () => {
  await service.stop()
  await published.remove()
})

describe.skipIf(!isRunnable('sqlmap'))('sqlmap', () => {
  test.each([
    ['the queries of a list', '/api/v1/jobs?skill=writing&limit=5', []],
    ['a name in a path', '/api/v1/partners/poster*', []],
    ['a body', '/api/v1/claim', ['--data', '{"email":"a@b.example*","code":"000000*"}']],
  ])('finds nothing to inject into %s', async (_name, path, how) => {
    const before = service.lines().length
    const folder = mkdtempSync(join(tmpdir(), 'ledger-sqlmap-'))
    const options = ['--batch', '--flush-session', '--disable-coloring', '--dbms', 'sqlite']
    const headers = ['--headers', 'Content-Type: application/json']
    const child = spawn(
      'sqlmap',
      [
        ...options,
        '--technique',
        'BEUS',
        '--threads',
        '4',
        '--ignore-code',
        '400,401,404',
        '--level',
        '3',
        '--risk',
        '2',
        '--output-dir',
        folder,
        ...headers,
        ...how,
        '-u',
        `${service.url}${path}`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8')
    })
    await once(child, 'close')
    rmSync(folder, { recursive: true, force: true })
    expect(said).toMatch(/do(?:es)? not (?:appear|seem) to be injectable/)
    expect(service.lines().length - before).toBeGreaterThan(100)
    expect(said).not.toMatch(/is vulnerable|identified the following injection/)
    expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
  })
})
