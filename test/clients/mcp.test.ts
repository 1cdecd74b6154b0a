/** Published programs of the Model Context Protocol: the conformance suite and the command line of the Inspector. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'

import { mcpPrompts, mcpToolFacts } from '../../src/contract/mcp.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const expectedFailures = fileURLToPath(new URL('mcp-expected-failures.yml', import.meta.url))
/** Releases that run on Node 20. */
const conformance = / (@\S+) /.exec(readFileSync(expectedFailures, 'utf8'))?.[1] ?? ''
const inspector = '@modelcontextprotocol/inspector@0.17.2'

const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
})
const folder = mkdtempSync(`${tmpdir()}/ledger-mcp-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program of the package in an empty folder. Fails with its output if it exits with an error. */
async function npx(pkg: string, program: string, ...args: readonly string[]): Promise<string> {
  const command = ['-y', '--loglevel=error', '-p', pkg, program, ...args]
  const failed = (error: unknown) => {
    const { stdout = '', stderr = '' } = z
      .object({ stdout: z.string(), stderr: z.string() })
      .partial()
      .parse(error)
    throw new Error(`${program} failed\n${stdout}\n${stderr}`)
  }
  const { stdout } = await promisify(execFile)('npx', command, { cwd: folder }).catch(failed)
  return stdout
}

test('every scenario of the MCP conformance suite passes, except for the listed ones', async () => {
  const url = `${service.url}/mcp`
  const options = ['--url', url, '--expected-failures', expectedFailures]
  const out = await npx(conformance, 'conformance', 'server', ...options)
  expect(out).toMatch(/tools-list: [1-9]\d* passed, 0 failed/)
})

test('the MCP Inspector lists and calls tools, prompts and resources', async () => {
  const inspect = async (method: string, ...args: readonly string[]): Promise<unknown> => {
    const target = ['--cli', `${service.url}/mcp`, '--transport', 'http', '--method', method]
    return JSON.parse(await npx(inspector, 'mcp-inspector', ...target, ...args))
  }
  const namesOf = (list: unknown) => z.array(z.looseObject({ name: z.string() })).parse(list)
  const listed = async (kind: 'tools' | 'prompts') => {
    const { [kind]: list } = z.record(z.string(), z.unknown()).parse(await inspect(`${kind}/list`))
    return namesOf(list).map(({ name }) => name)
  }
  expect(await listed('tools')).toEqual(mcpToolFacts().map(([name]) => name))
  const call = ['--tool-name', 'get_rail', '--tool-arg', 'name=alpha']
  expect(await inspect('tools/call', ...call)).toMatchObject({
    structuredContent: { rail: 'alpha' },
  })
  const pact = ['--tool-name', 'get_pact', '--tool-arg', 'id=14']
  expect(await inspect('tools/call', ...pact)).toMatchObject({
    structuredContent: { pact_id: '14' },
  })
  expect(await listed('prompts')).toEqual(Object.keys(mcpPrompts))
  const prompt = ['--prompt-name', 'check_rail', '--prompt-args', 'rail=alpha']
  expect(JSON.stringify(await inspect('prompts/get', ...prompt))).toContain('alpha')
  expect(JSON.stringify(await inspect('resources/list'))).toContain('/api/v1/rails')
})
