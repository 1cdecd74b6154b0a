import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { routes } from '../../../src/contract/routes.ts'
import { parseFrontMatter } from '../../../src/core/front-matter.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { fullWorld } from '../../site/worlds.ts'
import { execute } from '../../support/command-line.ts'
import { serveDuringTest, useLocalServer } from '../../support/local-server.ts'
import { documentsOf, siteOf } from '../../support/site.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { smallWorld } from '../../support/world.ts'

allowSlowTests('starts the scripts')

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

  test(`the agent skill ${name} is named by its directory and keeps to the allowed lengths`, () => {
    expect(fields['name']).toBe(name)
    expect(Object.keys(fields).toSorted()).toEqual(['description', 'license', 'name'])
    expect(String(fields['description'])).toMatch(/^[A-Z].* Use it when .*\.$/)
    expect(String(fields['description']).length).toBeLessThanOrEqual(1024)
    expect(body.split('\n').length).toBeLessThan(200)
    expect(body.length / 4).toBeLessThan(5000)
  })

  test(`the agent skill ${name} has only placeholders that the builder fills in`, () => {
    const placeholders = textOf(name).match(/\{[A-Z_]+\}/g) ?? []
    const filled = ['{SITE_URL}', '{BASE_URL}', '{SERVICE_NAME}', '{RAIL}', '{PACT}']
    expect(placeholders.filter((placeholder) => !filled.includes(placeholder))).toEqual([])
  })

  test(`the agent skill ${name} contains only addresses that are served`, () => {
    const world = fullWorld('https://ledger.test', { agentSkills: skills })
    const documents = [...documentsOf(world), ...siteOf(world)].map(({ path }) => path)
    const handled = routes.filter(({ serving }) => serving.kind === 'handler')
    // A skill can name the part of a route before its first parameter.
    const named = handled.map(({ path }) => path.replace(/\/\{.*$/, ''))
    const paths = new Set([...documents, ...named])
    const addresses = [
      ...textOf(name).matchAll(/\{(SITE|BASE)_URL\}(\/[A-Za-z0-9._/-]*[A-Za-z0-9])/g),
    ]
      .map(([, base, path = '']) => (base === 'BASE' ? `/api/v1${path}` : path))
      .filter((path) => path !== '/api/v1/rails/pact')
    const publishersOwn = ['/snapshot.json', '/diffs/latest.md', '/api/v1/pacts/']
    expect(addresses.filter((path) => !paths.has(path) && !publishersOwn.includes(path))).toEqual(
      [],
    )
    expect(addresses.length).toBeGreaterThan(3)
  })
})

describe('the scripts in the agent skills', () => {
  const published = smallWorld()
  const service = useService({ documents: [...documentsOf(published)], per: 'file' })
  let answer: unknown = null
  const node = useLocalServer((request, response) => {
    request.resume()
    request.on('end', () => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer })))
  })

  function block(name: (typeof names)[number], language: 'js' | 'sh', site: string): string {
    const fence = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, 'g')
    const blocks = [...textOf(name).matchAll(fence)].map(([, text = '']) => text)
    const source = blocks.find((text) => text.includes('verify') || text.includes('rpc'))
    if (source === undefined) throw new Error(`no ${language} block in ${name}`)
    return source.replaceAll('{SITE_URL}', site).replaceAll('{BASE_URL}', `${site}/api/v1`)
  }

  async function runNode(name: (typeof names)[number], site: string, ...args: string[]) {
    const dir = tempFolder()
    const file = join(dir, `${name}.mjs`)
    await writeFile(file, block(name, 'js', site))
    const { code, out } = await execute(process.execPath, [file, ...args], dir)
    return { code, out }
  }

  test.each([
    ['/api/v1/rails', 'signature good listed'],
    ['/desk/first-words.md', 'signature good listed'],
    ['/snapshot.json', 'signature good'],
  ])('the script of the desk skill accepts %s as served', async (path, verdict) => {
    const { code, out } = await runNode('desk', service.url, path)
    expect(code).toBe(0)
    expect(out).toContain(verdict)
  })

  test('the script of the desk skill rejects a document changed in transit', async () => {
    /** Forwards a document with one digit changed. */
    const forward = async (path: string, response: ServerResponse) => {
      const upstream = await fetch(service.url + path)
      const body = await upstream.text()
      for (const name of ['x-signature', 'x-signature-key']) {
        response.setHeader(name, upstream.headers.get(name) ?? '')
      }
      response.end(path === '/api/v1/rails' ? body.replace('1000', '9000') : body)
    }
    const site = await serveDuringTest(
      (request, response) => void forward(request.url ?? '/', response),
    )
    expect(await runNode('desk', site, '/api/v1/rails')).toEqual({
      code: 1,
      out: 'SIGNATURE BAD not in the manifest',
    })
  })

  test('the desk skill verifies a document with curl and OpenSSL', async () => {
    const script = block('desk', 'sh', service.url)
    const verdict = { code: 0, out: 'Signature Verified Successfully' }
    expect(await execute('sh', ['-c', script], tempFolder())).toMatchObject(verdict)
  })

  const [pact] = published.pacts.settled
  const topic = (wallet = '') => `0x${wallet.slice(2).toLowerCase().padStart(64, '0')}`
  const receipt = ({ status = '0x1', value = 12_500_000, to = pact?.worker }) => ({
    status,
    blockNumber: `0x${(457426042).toString(16)}`,
    logs: [
      {
        address: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
        topics: [
          '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
          topic(pact?.payer),
          topic(to),
        ],
        data: `0x${value.toString(16).padStart(64, '0')}`,
      },
    ],
  })

  // The tests of pacts run the same script against a real chain: a transaction that pays, and one that no node knows.
  test.each([
    ['failed', receipt({ status: '0x0' }), '12.5'],
    ['pays less', receipt({ value: 12_499_999 }), '12.499999'],
    ['pays another wallet', receipt({ to: pact?.payer ?? '' }), '0'],
  ])('the pacts skill does not confirm a transaction that %s', async (_case, result, paid) => {
    answer = result
    const out = `NOT CONFIRMED ${paid} of 12.5 USDC`
    expect(await runNode('pacts', service.url, '12', node.url)).toEqual({ code: 1, out })
  })
})
