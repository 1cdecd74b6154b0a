import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { readAssets } from '../../builder/publish/assets.ts'
import type { Manifest } from '../../src/core/documents.ts'
import { fullWorld } from '../site/worlds.ts'
import { startCaddy, startNginx } from '../support/edge.ts'
import { publicDir, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import { send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { documentsOf, siteOf } from '../support/site.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts servers of the deploy notes')

const edges = [
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const
const browser = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const assets = new URL('../../builder/site/static', import.meta.url).pathname

describe.each(edges)('the site behind %s with the shipped configuration', (program, start) => {
  describe.skipIf(!isRunnable(program))('', () => {
    let published: PublicDir
    let manifest: Manifest
    let service: Service
    let edge: ServerProcess
    let isStopped = false

    beforeAll(async () => {
      published = await publicDir()
      const world = fullWorld('https://ledger.test')
      ;({ manifest } = await published.publish([
        ...documentsOf(world),
        ...siteOf(world),
        ...(await readAssets(assets)),
      ]))
      service = await startService(published.dir)
      const servicePort = service.address.port
      edge = await start({ servicePort, publicDir: published.dir })
    })

    afterAll(async () => {
      await edge.stop()
      if (!isStopped) await service.stop()
      await published.remove()
    })

    const get = (path: string, ...headers: string[]): Promise<RawAnswer> =>
      send(edge.address, `GET ${path}`, headers)

    /** Documents that an edge does not answer with their size and content type. */
    const differing = async ({ address }: ServerProcess): Promise<string[]> => {
      const problems: string[] = []
      for (const { path, size, content_type: type } of manifest.documents) {
        const { status, headers, body } = await send(address, `GET ${path}`)
        const answered = headers.get('content-type')
        if (status !== 200 || body.length !== size || answered !== type) {
          problems.push(`${path}: ${status}, ${body.length} of ${size} bytes, ${answered}`)
        }
      }
      return problems
    }

    test('answers every document with its bytes and content type', async () => {
      expect(await differing(edge)).toEqual([])
    })

    test('answers 404 with a page to browsers and with the error body to programs', async () => {
      const person = await get('/no/such/page', browser)
      expect([person.status, person.headers.get('content-type')]).toEqual([
        404,
        'text/html; charset=utf-8',
      ])
      expect(person.body.toString()).toContain('There is nothing at this address')
      const program = await get('/no/such/page')
      expect([program.status, program.headers.get('content-type')]).toEqual([
        404,
        'application/json',
      ])
      expect(JSON.parse(program.body.toString())).toMatchObject({ code: 'not_found' })
      const api = await get('/api/v1/rails/none', browser)
      expect(JSON.parse(api.body.toString())).toMatchObject({ code: 'unknown_rail' })
      const wellKnown = await get('/.well-known/none', browser)
      expect([wellKnown.status, wellKnown.headers.get('content-type')]).toEqual([
        404,
        'application/json',
      ])
      for (const { headers } of [person, program, api, wellKnown]) {
        expect(headers.get('cache-control')).toBe('no-store')
      }
    })

    test('does not reuse a cached 404 page for a program, nor an error body for a browser', async () => {
      const path = `/receipts/rcp_${'0'.repeat(64)}`
      for (let round = 0; round < 2; round += 1) {
        expect((await get(path, browser)).headers.get('content-type')).toContain('text/html')
        expect((await get(path)).headers.get('content-type')).toBe('application/json')
      }
    })

    test('sends only clients that ask for Markdown to the Markdown form of a page', async () => {
      for (let round = 0; round < 2; round += 1) {
        const { status, headers } = await get('/rails/alpha', 'Accept: text/markdown, */*;q=0.5')
        expect([status, headers.get('location')]).toEqual([303, '/rails/alpha.md'])
        const markdown = await get('/rails/alpha.md', 'Accept: text/markdown, */*;q=0.5')
        expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
        const page = await get('/rails/alpha', browser)
        expect([page.status, page.headers.get('content-type')]).toEqual([
          200,
          'text/html; charset=utf-8',
        ])
      }
    })

    test.each([
      ['2025-11-25', 'legacy' as const],
      ['2026-07-28', { pin: '2026-07-28' }],
    ])('passes calls of MCP tools to the service, version %s', async (version, mode) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const { host, port } = edge.address
      await client.connect(new StreamableHTTPClientTransport(new URL(`http://${host}:${port}/mcp`)))
      expect(client.getNegotiatedProtocolVersion()).toBe(version)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('get_rail')
      const { structuredContent } = await client.callTool({
        name: 'get_rail',
        arguments: { name: 'alpha' },
      })
      expect(structuredContent).toMatchObject({ rail: 'alpha' })
      await client.close()
    })

    test('passes Origin to the service and never caches MCP', async () => {
      const message = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
      const post = (origin: string) =>
        send(
          edge.address,
          'POST /mcp',
          [
            'Content-Type: application/json',
            'Accept: application/json, text/event-stream',
            `Content-Length: ${message.length}`,
            `Origin: ${origin}`,
          ],
          message,
        )
      const good = await post('https://elsewhere.example')
      expect([good.status, good.headers.get('cache-control')]).toEqual([200, 'no-store'])
      expect((await post('http://bent.example')).status).toBe(403)
    })

    describe('with the service stopped', () => {
      beforeAll(async () => {
        await service.stop()
        isStopped = true
      })

      test('answers pages as HTML while the service is stopped', async () => {
        for (const path of ['/', '/receipts', '/docs/errors']) {
          const { status, headers, body } = await get(path, browser)
          expect([path, status, headers.get('content-type')]).toEqual([
            path,
            200,
            'text/html; charset=utf-8',
          ])
          expect(body.toString()).toContain('<!doctype html>')
        }
      })

      test('answers every document from its file while the service is stopped, with its content type', async () => {
        // A new edge has an empty cache and can only use the files.
        const fresh = await start({ servicePort: service.address.port, publicDir: published.dir })
        const problems = await differing(fresh)
        const live = await send(fresh.address, 'GET /api/v1/stats/live', [])
        await fresh.stop()
        expect(problems).toEqual([])
        expect(live.headers.get('cache-control')).toContain('max-age=5,')
      })

      test('answers 503 with a page or the error body, by the kind of client, while the service is stopped', async () => {
        const person = await get('/workers/0x8617E340B3D01FA5F11F306F4090FD50E238070D', browser)
        expect([person.status, person.headers.get('cache-control')]).toEqual([503, 'no-store'])
        expect(person.headers.get('content-type')).toBe('text/html; charset=utf-8')
        expect(person.headers.get('retry-after')).toBe('5')
        expect(person.headers.get('content-security-policy')).toContain("script-src 'self'")
        expect(person.body.toString()).toContain('cannot respond right now')
        for (const answer of [get('/no/such/page'), get('/api/v1/health', browser)]) {
          const { status, headers, body } = await answer
          expect([status, headers.get('cache-control')]).toEqual([503, 'no-store'])
          expect(JSON.parse(body.toString())).toMatchObject({ code: 'unavailable' })
        }
      })
    })
  })
})
