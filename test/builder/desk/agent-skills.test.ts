import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { documentsOf } from '../../../builder/documents/index.ts'
import { loadKeys } from '../../../builder/publish/keys.ts'
import { publish } from '../../../builder/publish/publish.ts'
import { routes } from '../../../src/contract/routes.ts'
import { parseFrontMatter } from '../../../src/core/front-matter.ts'
import { fullWorld } from '../../site/worlds.ts'
import { startService } from '../../support/http-service.ts'
import type { Service } from '../../support/http-service.ts'
import { siteOf } from '../../support/site.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { smallWorld, worldNowMs } from '../../support/world.ts'

allowSlowTests('runs git')

const names = ['desk', 'pacts', 'register-and-earn'] as const
const skills = new Map(
  await Promise.all(
    names.map(async (name) => {
      const path = new URL(`../../../data/agent-skills/${name}/SKILL.md`, import.meta.url)
      return [name, await readFile(path, 'utf8')] as const
    }),
  ),
)
const textOf = (name: (typeof names)[number]) => skills.get(name) ?? ''

describe.each(names)('the agent skill %s', (name) => {
  const { fields, body } = parseFrontMatter(textOf(name))

  test('has the name of its directory and a description of allowed length', () => {
    expect(fields['name']).toBe(name)
    expect(Object.keys(fields).toSorted()).toEqual(['description', 'license', 'name'])
    expect(String(fields['description'])).toMatch(/^[A-Z].* Use it when .*\.$/)
    expect(String(fields['description']).length).toBeLessThanOrEqual(1024)
  })

  test('is short enough to be read at once', () => {
    expect(body.split('\n').length).toBeLessThan(200)
    expect(body.length / 4).toBeLessThan(5000)
  })

  test('has only placeholders that the builder fills in', () => {
    const placeholders = textOf(name).match(/\{[A-Z_]+\}/g) ?? []
    expect(new Set(placeholders)).toEqual(new Set(['{SITE_URL}', '{BASE_URL}', '{SERVICE_NAME}']))
  })

  test('contains only addresses that are served', () => {
    const world = fullWorld('https://ledger.test', { agentSkills: skills })
    const documents = [...documentsOf(world), ...siteOf(world)].map(({ path }) => path)
    const handled = routes.filter(({ serving }) => serving.kind === 'handler')
    // What stands before the first parameter is what a skill can name.
    const named = handled.map(({ path }) => path.replace(/\/\{.*$/, ''))
    const paths = new Set([...documents, ...named])
    const known = ['/api/v1/rails/x402', '/api/v1/rails/pact', '/desk/five-statuses.md']
    const addresses = [
      ...textOf(name).matchAll(/\{(SITE|BASE)_URL\}(\/[A-Za-z0-9._/-]*[A-Za-z0-9])/g),
    ]
      .map(([, base, path = '']) => (base === 'BASE' ? `/api/v1${path}` : path))
      .filter((path) => !known.some((prefix) => path.startsWith(prefix)))
    const publishersOwn = ['/snapshot.json', '/diffs/latest.md', '/api/v1/pacts/']
    expect(addresses.filter((path) => !paths.has(path) && !publishersOwn.includes(path))).toEqual(
      [],
    )
    expect(addresses.length).toBeGreaterThan(3)
  })
})

describe('the scripts in the agent skills', () => {
  let dir = ''
  let service: Service
  let node: Server
  let rpc = ''
  let answer: unknown = null

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'ledger-skills-'))
    const { signer, ring, publicKeys } = await loadKeys({
      dir: join(dir, 'keys'),
      nowMs: worldNowMs,
    })
    const world = smallWorld({ signingKeys: { keys: publicKeys.keys.map((key) => ({ ...key })) } })
    const quiet = () => undefined
    await publish({
      publicDir: join(dir, 'public'),
      documents: [...documentsOf(world)],
      assetsDir: null,
      signer,
      ring,
      nowMs: worldNowMs,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    })
    service = await startService(join(dir, 'public'))
    node = createServer((request, response) => {
      request.resume()
      request.on('end', () =>
        response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer })),
      )
    })
    await new Promise<void>((done) => {
      node.listen(0, '127.0.0.1', done)
    })
    const address = node.address()
    rpc = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  })
  afterAll(async () => {
    await service.stop()
    await new Promise((done) => {
      node.close(done)
    })
    await rm(dir, { recursive: true, force: true })
  })

  /** The last fenced block of a language, filled in for the site. */
  function block(name: (typeof names)[number], language: 'js' | 'sh', site: string): string {
    const fence = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, 'g')
    const blocks = [...textOf(name).matchAll(fence)]
    const source = blocks
      .map(([, text = '']) => text)
      .find((text) => text.includes('verify') || text.includes('rpc'))
    if (source === undefined) throw new Error(`no ${language} block in ${name}`)
    return source.replaceAll('{SITE_URL}', site).replaceAll('{BASE_URL}', `${site}/api/v1`)
  }

  async function run(
    command: string,
    args: readonly string[],
  ): Promise<{ code: number; out: string }> {
    return await new Promise((done) => {
      execFile(command, [...args], { cwd: dir }, (error, stdout) => {
        done({ code: typeof error?.code === 'number' ? error.code : 0, out: stdout.trim() })
      })
    })
  }

  async function runNode(name: (typeof names)[number], site: string, ...args: string[]) {
    const file = join(dir, `${name}.mjs`)
    await writeFile(file, block(name, 'js', site))
    return run(process.execPath, [file, ...args])
  }

  test('accept a served document', async () => {
    expect(await runNode('desk', service.url, '/api/v1/rails')).toEqual({
      code: 0,
      out: 'signature good listed',
    })
    expect((await runNode('desk', service.url, '/desk/first-words.md')).out).toContain(
      'good listed',
    )
    expect((await runNode('desk', service.url, '/snapshot.json')).out).toContain('signature good')
  })

  /** Hands the document through with one digit of the rails changed. */
  async function forward(path: string, response: ServerResponse): Promise<void> {
    const upstream = await fetch(service.url + path)
    const body = await upstream.text()
    for (const name of ['x-signature', 'x-signature-key']) {
      response.setHeader(name, upstream.headers.get(name) ?? '')
    }
    response.end(path === '/api/v1/rails' ? body.replace('1000', '9000') : body)
  }

  test('reject a document changed in transit', async () => {
    const proxy = createServer((request, response) => {
      void forward(request.url ?? '/', response)
    })
    await new Promise<void>((done) => {
      proxy.listen(0, '127.0.0.1', done)
    })
    const address = proxy.address()
    const site = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    expect(await runNode('desk', site, '/api/v1/rails')).toEqual({
      code: 1,
      out: 'SIGNATURE BAD not in the manifest',
    })
    proxy.closeAllConnections()
    await new Promise((done) => {
      proxy.close(done)
    })
  })

  test('verify with curl and OpenSSL', async () => {
    const { code, out } = await run('sh', ['-c', block('desk', 'sh', service.url)])
    expect({ code, out }).toEqual({ code: 0, out: 'Signature Verified Successfully' })
  })

  const [pact] = smallWorld().pacts.settled
  const topic = (wallet = '') => `0x${wallet.slice(2).toLowerCase().padStart(64, '0')}`
  const receipt = (changes: { status?: string; value?: bigint; to?: string }) => ({
    status: changes.status ?? '0x1',
    blockNumber: `0x${(457426042).toString(16)}`,
    logs: [
      {
        address: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
        topics: [
          '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
          topic(pact?.payer),
          topic(changes.to ?? pact?.worker),
        ],
        data: `0x${(changes.value ?? 12_500_000n).toString(16).padStart(64, '0')}`,
      },
    ],
  })

  test.each([
    ['a transaction that pays', receipt({}), { code: 0, out: 'paid 12.5 of 12.5 USDC' }],
    [
      'one that failed',
      receipt({ status: '0x0' }),
      { code: 1, out: 'NOT CONFIRMED 12.5 of 12.5 USDC' },
    ],
    [
      'one that pays less',
      receipt({ value: 12_499_999n }),
      { code: 1, out: 'NOT CONFIRMED 12.499999 of 12.5 USDC' },
    ],
    [
      'one that pays somebody else',
      receipt({ to: pact?.payer ?? '' }),
      { code: 1, out: 'NOT CONFIRMED 0 of 12.5 USDC' },
    ],
    ['one that no node knows', null, { code: 1, out: 'NOT CONFIRMED 0 of 12.5 USDC' }],
  ])('judge %s', async (_case, result, expected) => {
    answer = result
    expect(await runNode('pacts', service.url, '12', rpc)).toEqual(expected)
  })
})
