import { readFile } from 'node:fs/promises'

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { mcpPrompts, mcpToolFacts } from '../../src/contract/mcp.ts'
import { demoSentence } from '../../src/core/demo-mark.ts'
import { isoTime } from '../../src/core/time.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { documentsOf } from '../support/site.ts'
import { storeStatement } from '../support/statements.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const alice = evmWallet('alice')
const platformKey = ed25519Key('platform')
const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
  options: async () => ({ actions: await platformActions(platformKey), limits: 'on' }),
})
let receiptId: string

beforeAll(async () => {
  const receipt = issued(receiptFacts(alice), platformKey)
  const body = await submission(alice, receipt, service.clock.now())
  const made = await service.postJson('/api/v1/receipts', body)
  receiptId = String(made.body['receipt_id'])
  const stated = { receipt_id: receiptId, occurred_at: isoTime(worldNowMs), rail: 'x402' }
  await storeStatement(service, alice.address, [
    { ...stated, verdict: 'attested', amount_usdc: 12.5 },
  ])
})

// Every test has the whole rate limit.
beforeEach(() => service.clock.advance(60_000))

const calls = () =>
  ({
    list_rails: [
      { status: 'paying', limit: 1 },
      { total: 2, count: 1 },
    ],
    how_to_earn: [
      { name: 'alpha' },
      {
        pays_now: true,
        apply_url: 'https://alpha.example/apply',
        entry_requirements: ['a wallet'],
        caveats: [
          '5 % of the volume came back to its payers, stayed within one party or was passed on; the expected income includes it.',
          'warning: Rail alpha: more than half of the raw volume does not pass the filter rule',
        ],
      },
    ],
    verify_receipt: [{ id: receiptId }, { holds: true, kind: 'platform' }],
    reputation_rules: [{}, { decay_days: 60, evidence_weights: { onchain: 1, platform: 0.8 } }],
    get_stats: [
      { since: '2020-01-01T00:00:00Z', limit: 1 },
      { delta_since: { omitted: { rail_snapshots: expect.any(Number) as unknown } } },
    ],
    get_rail: [{ name: 'alpha' }, { rail: 'alpha', display_name: 'Rail alpha' }],
    get_rail_history: [{ name: 'alpha', limit: 1 }, { rail: 'alpha' }],
    list_opportunities: [
      { chain: 'base', limit: 1 },
      { count: 1, total: 2, omitted: { opportunities: 1 } },
    ],
    list_flags: [{}, { flags: expect.any(Array) as unknown }],
    get_status_rules: [{}, { rules: expect.any(Array) as unknown }],
    get_leaderboard: [{}, { as_of: expect.any(String) as unknown }],
    list_workers: [{}, { total: 0, workers: [] }],
    list_statements: [
      { wallet: alice.address },
      { count: 1, statements: [{ month: '2026-10', total_usdc: 0 }] },
    ],
    get_statement: [
      { wallet: alice.address, month: '2026-10' },
      { receipts: [{ verdict: 'attested', amount_usdc: 12.5 }], merkle: { leaves: 0 } },
    ],
    list_receipts: [{ wallet: alice.address }, { total: 1, receipts: [{ rail: 'x402' }] }],
    get_receipt: [{ id: receiptId }, { receipt_id: receiptId, platform: 'example_board' }],
    list_platforms: [{}, { platforms: expect.any(Array) as unknown }],
    list_jobs: [
      { status: 'open', limit: 3 },
      { total: 0, jobs: [] },
    ],
    list_skills: [
      { limit: 1 },
      {
        skills: [expect.any(Object) as unknown],
        categories: expect.arrayContaining(['legal-compliance']) as unknown,
      },
    ],
    list_pacts: [
      {},
      { settled: [{ pact_id: '12' }], recorded: [{ pact_id: '9', state: 'recorded' }] },
    ],
    get_pact: [{ id: 14 }, { state: 'in_flight', phase_status: 'submitted' }],
    list_articles: [{}, { articles: expect.any(Array) as unknown }],
  }) as const

const textsOf = (content: unknown) =>
  z
    .array(z.object({ text: z.string() }))
    .parse(content)
    .map(({ text }) => text)

async function connected(mode: 'legacy' | { readonly pin: string }): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: mode === 'legacy' ? mode : { pin: mode.pin } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
  onTestFinished(() => client.close())
  return client
}

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const)('the official MCP client with protocol version %s', (version, mode) => {
  test('an MCP client lists and calls every tool', async () => {
    const client = await connected(mode)
    expect(client.getNegotiatedProtocolVersion()).toBe(version)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(mcpToolFacts().map(([name]) => name))
    for (const tool of tools) {
      expect(tool.annotations?.readOnlyHint).toBe(true)
      expect(tool.description?.length).toBeGreaterThan(15)
    }
    expect(JSON.stringify(tools).length).toBeLessThan(64 * 1024)
    // The client compares each answer with the schema that the server listed.
    for (const [name, [args, expected]] of Object.entries(calls())) {
      expect(tools.find((tool) => tool.name === name)?.outputSchema, name).toBeDefined()
      const call = { name, arguments: args }
      const { structuredContent, content, isError } = await client.callTool(call)
      expect(isError, name).not.toBe(true)
      expect(structuredContent, name).toMatchObject(expected)
      const [text] = textsOf(content)
      expect(JSON.parse(text ?? '')).toEqual(structuredContent)
    }
  })

  test('an MCP tool whose answer is text or hashed has no output schema', async () => {
    const { tools } = await (await connected(mode)).listTools()
    const names = tools.filter((tool) => tool.outputSchema === undefined).map(({ name }) => name)
    const proofs = ['get_evidence_proof', 'get_statement_proof', 'get_receipt_proof']
    expect(names).toEqual(['get_evidence', ...proofs, 'get_article'])
  })

  test('an MCP tool lists the fields of entries and leaves out limits', async () => {
    const { tools } = await (await connected(mode)).listTools()
    const schema = tools.find(({ name }) => name === 'list_jobs')?.outputSchema
    expect(schema).toMatchObject({
      type: 'object',
      required: expect.arrayContaining(['jobs', 'computed_at']) as unknown,
      properties: {
        next_cursor: { type: 'string' },
        jobs: { type: 'array', items: { properties: { budget_usdc: { type: 'number' } } } },
      },
    })
    expect(JSON.stringify(schema)).not.toMatch(/pattern|maxLength|maximum/)
  })

  test('an MCP tool accepts a truth value where the API has a text', async () => {
    const client = await connected(mode)
    const ask = async (content: boolean) =>
      JSON.stringify(await client.callTool({ name: 'list_receipts', arguments: { content } }))
    expect(await ask(true)).toContain('"content":{')
    expect(await ask(false)).not.toContain('"content":{')
  })

  test('an MCP tool filters a list by its arguments', async () => {
    const client = await connected(mode)
    const call = { name: 'list_receipts', arguments: { wallet: evmWallet('bob').address } }
    expect((await client.callTool(call)).structuredContent).toMatchObject({ total: 0 })
  })

  test('the MCP tool of opportunities selects by skill and entry cost and suggests skills', async () => {
    const client = await connected(mode)
    const ask = async (args: Record<string, unknown>) =>
      await client.callTool({ name: 'list_opportunities', arguments: args })
    for (const most of [0, '0.5']) {
      const answer = await ask({ skill: 'technical-writing', max_entry_usdc: most })
      expect(answer.structuredContent).toMatchObject({
        total: 1,
        opportunities: [{ rail: 'alpha' }],
      })
    }
    const refused = await ask({ skill: 'technical-writer' })
    expect(refused.isError).toBe(true)
    expect(JSON.stringify(refused.content)).toContain('(similar: technical-writing)')
  })

  test('an MCP tool returns the error code of an unknown entry', async () => {
    const client = await connected(mode)
    const missing: Record<string, [Record<string, string>, string]> = {
      get_worker: [{ wallet: alice.address }, 'unknown_worker'],
      get_job: [{ id: `job_${'0'.repeat(24)}` }, 'unknown_job'],
      get_skill: [{ slug: 'no-such-skill' }, 'unknown_skill'],
      get_article: [{ slug: 'no-such-article' }, 'not_found'],
      get_evidence: [{ sha256: 'ab'.repeat(32) }, 'not_found'],
      get_evidence_proof: [{ sha256: 'ab'.repeat(32) }, 'not_found'],
      get_statement: [{ wallet: alice.address, month: '2026-09' }, 'not_found'],
      get_statement_proof: [{ wallet: alice.address, month: '2026-09' }, 'not_found'],
      get_receipt_proof: [{ id: `rcp_${'ab'.repeat(32)}` }, 'unknown_receipt'],
    }
    for (const [name, [args, code]] of Object.entries(missing)) {
      const { isError, content } = await client.callTool({ name, arguments: args })
      expect(isError, name).toBe(true)
      expect(JSON.stringify(content), name).toContain(code)
    }
  })

  test('an MCP client lists and gets every prompt', async () => {
    const client = await connected(mode)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(Object.keys(mcpPrompts))
    for (const { name, arguments: args = [] } of prompts) {
      const filled = Object.fromEntries(args.map((arg) => [arg.name, `given-${arg.name}`]))
      const { messages } = await client.getPrompt({ name, arguments: filled })
      for (const value of Object.values(filled)) expect(JSON.stringify(messages)).toContain(value)
    }
  })

  test('an MCP client reads documents as resources', async () => {
    const client = await connected(mode)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => new URL(uri).pathname)).toContain('/api/v1/rails')
    const { resourceTemplates } = await client.listResourceTemplates()
    const template = resourceTemplates.find(({ name }) => name === 'getRail')
    const uri = String(template?.uriTemplate).replace('{name}', 'alpha')
    const { contents } = await client.readResource({ uri })
    const published = await fetch(`${service.url}/api/v1/rails/alpha`)
    expect(contents).toMatchObject([{ uri, text: await published.text() }])
    for (const { uri: listed } of resources) {
      expect((await client.readResource({ uri: listed })).contents).toHaveLength(1)
    }
    await expect(client.readResource({ uri: uri.replace('alpha', 'nothing') })).rejects.toThrow(
      /not found/i,
    )
  })

  test.each([
    ['get_rail', { name: 'nothing' }, 'unknown_rail: No such rail. GET /api/v1/rails lists'],
    [
      'get_rail',
      { name: 'alphas' },
      'unknown_rail: Similar: /api/v1/rails/alpha. GET /api/v1/rails',
    ],
    ['how_to_earn', { name: 'alphas' }, 'unknown_rail: Similar: /api/v1/rails/alpha. GET'],
    ['list_rails', { limit: 1000 }, 'limit must be at most 200'],
    ['list_rails', { limit: 'ten' }, 'limit must be a number'],
    ['list_rails', { chain: 'base', rail: 'x402' }, 'rail is unknown; known fields: status, chain'],
    ['list_jobs', { state: 'open' }, 'state is unknown; known fields: limit, cursor, status'],
    ['reputation_rules', { wallet: 'x' }, 'wallet is unknown'],
    ['get_pact', { pact_id: 16 }, 'id is missing; pact_id is unknown; known fields: id'],
    ['get_pact', { id: 'x' }, 'id must be the number of a pact, such as 16'],
    ['get_pact', { id: 1.5 }, 'id must be a whole number'],
    ['list_jobs', { status: 'bogus' }, 'status must be one of open, awarded'],
  ])('the MCP call %s with %j returns the error "%s"', async (name, args, expected) => {
    const client = await connected(mode)
    const { isError, content } = await client.callTool({ name, arguments: args })
    expect(isError).toBe(true)
    expect(textsOf(content)).toEqual([expect.stringContaining(expected)])
  })

  test.each([
    [{}, 'skills is missing'],
    [{ skills: 'x', rail: 'y' }, 'rail is unknown; known fields: skills'],
  ])('an MCP prompt with the arguments %j is refused', async (args, expected) => {
    const client = await connected(mode)
    const got = client.getPrompt({ name: 'find_work', arguments: args })
    await expect(got).rejects.toThrow(`invalid_input: The input is invalid; ${expected}`)
  })
})

describe('the MCP endpoint', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    })

  test('the requests of the docs list the tools and call one', async () => {
    const docs = await readFile('data/docs/mcp.md', 'utf8')
    const answers = []
    for (const [, request = ''] of docs.matchAll(/^mcp '(.+)'$/gm)) {
      answers.push(await (await post(request)).text())
    }
    expect(answers).toEqual([
      expect.stringMatching(/^data: .*"name":"list_opportunities"/m),
      expect.stringMatching(/^data: .*"structuredContent":\{.*"opportunities":\[\{/m),
    ])
  })

  test('the MCP endpoint accepts cross-origin scripts and counts their calls', async () => {
    const preflight = await fetch(`${service.url}/mcp`, { method: 'OPTIONS' })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('MCP-Protocol-Version')
    const answer = await post(JSON.stringify(list))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('ratelimit')).toMatch(/r=\d+/)
  })

  test.each([
    ['https://elsewhere.example', 200],
    ['http://localhost:6274', 200],
    ['http://127.0.0.1', 200],
    ['http://bent.example:8787', 403],
    ['https://user@elsewhere.example', 403],
    ['null', 403],
    ['file://', 403],
  ])('the MCP endpoint answers scripts from the origin %s with %i', async (origin, status) => {
    const answer = await post(JSON.stringify(list), { Origin: origin })
    expect(answer.status).toBe(status)
  })

  test('the MCP endpoint opens no event stream', async () => {
    const version = '2026-07-28'
    const prefix = 'io.modelcontextprotocol'
    const listen = {
      ...list,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          [`${prefix}/protocolVersion`]: version,
          [`${prefix}/clientInfo`]: { name: 'test', version: '1' },
          [`${prefix}/clientCapabilities`]: {},
        },
      },
    }
    const answer = await post(JSON.stringify(listen), {
      'MCP-Protocol-Version': version,
      'Mcp-Method': 'subscriptions/listen',
    })
    expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32603 } })
  })

  test('the MCP endpoint accepts one JSON object of at most 64 KiB by POST', async () => {
    expect((await fetch(`${service.url}/mcp`)).status).toBe(405)
    expect((await post('x'.repeat(65 * 1024))).status).toBe(413)
    expect((await post('[]')).status).toBe(400)
    expect((await post('{"jsonrpc":')).status).toBe(400)
    expect((await post('{}', { 'Content-Type': 'text/plain' })).status).toBe(415)
    expect((await post('{"no":"message"}')).status).toBe(400)
  })
})

describe('a demo', () => {
  beforeAll(async () => {
    await service.restart({
      actions: { ...(await platformActions(platformKey)), site: { isDemo: true } },
    })
  })

  test('a demo states in the MCP instructions and in every result that it is a demo', async () => {
    const client = await connected('legacy')
    expect(client.getInstructions()).toContain(demoSentence)
    const capabilities = JSON.stringify(client.getServerCapabilities())
    expect(capabilities.match(/"listChanged":\w+/g)).toEqual(Array(3).fill('"listChanged":false'))
    const results = []
    for (const { name } of (await client.listTools()).tools) {
      const [args] = Object.entries(calls()).find(([each]) => each === name)?.[1] ?? [{}]
      results.push(await client.callTool({ name, arguments: args }))
    }
    for (const { content, structuredContent, isError } of results) {
      const [text = '', mark] = textsOf(content)
      expect(mark).toBe(demoSentence)
      if (isError !== true) expect(structuredContent).toMatchObject({ demo: true })
      if (isError !== true) expect(JSON.parse(text)).toMatchObject({ demo: true })
    }
    expect(results.filter(({ isError }) => isError !== true).length).toBeGreaterThan(15)
  })
})

test('the docs list the scenarios of the MCP conformance suite that do not apply, with the reasons', async () => {
  const expected = await readFile('test/clients/mcp-expected-failures.yml', 'utf8')
  const groups = expected.split(/^ {2}# /m).slice(1)
  const rows = groups.map((group) => {
    const [reason = '', ...names] = group.trim().split(/\n {2}- /)
    return `| ${reason} | ${names.map((name) => `\`${name}\``).join(', ')} |`
  })
  expect(rows.length).toBeGreaterThan(2)
  const docs = await readFile('data/docs/mcp.md', 'utf8')
  const table = docs.slice(docs.indexOf('| Reason |')).split('\n\n', 1)[0] ?? ''
  expect(table.split('\n').slice(2)).toEqual(rows)
  const [, release = ''] = / (@\S+) /.exec(expected) ?? []
  expect(docs).toContain(`\`${release}\``)
})
