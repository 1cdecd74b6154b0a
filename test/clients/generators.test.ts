/** Clients that published generators make from `/openapi.json`: compiled with strict types, and called. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { build } from 'rolldown'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { usePackages } from '../support/packages.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const { folder } = usePackages(
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  '@hey-api/openapi-ts@0.95.0',
  'orval@7.13.2',
  'typescript@5.9.3',
)
const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
})

const run = async (program: string, ...args: readonly string[]) =>
  await promisify(execFile)(program, args, { cwd: folder, maxBuffer: 1e8 })
const installed = (name: string) => join(folder, 'node_modules/.bin', name)

const names: Readonly<Record<string, string>> = { name: 'alpha', handle: 'acme-agents' }
const paramsOf = ({ params = {} }: Route): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, { example }]) => [name, names[name] ?? example ?? 'x']),
  )
/** Public reads of JSON; the generated clients parse all answers. */
const reads: readonly Route[] = routes.filter(
  ({ method, access, answers }) =>
    method === 'GET' &&
    access === 'public' &&
    answers[200]?.schema !== undefined &&
    answers[200].contentType === undefined,
)
const callsOf = (callOf: (route: Route) => string) =>
  reads.map((route) => `  ['${route.id}', async () => ${callOf(route)}],`).join('\n')

const generators = {
  'openapi-typescript and openapi-fetch': {
    generate: () => run(installed('openapi-typescript'), 'openapi.json', '-o', 'types.ts'),
    imports: `import createClient from 'openapi-fetch'
import type { paths } from './types'
const client = createClient<paths>({ baseUrl: origin })`,
    call: (route: Route) =>
      `(await client.GET('${route.path}'${route.params === undefined ? '' : `, { params: { path: ${JSON.stringify(paramsOf(route))} } }`})).response.status`,
  },
  '@hey-api/openapi-ts': {
    generate: () =>
      run(
        installed('openapi-ts'),
        '-i',
        'openapi.json',
        '-o',
        'hey',
        '-c',
        '@hey-api/client-fetch',
      ),
    imports: `import * as sdk from './hey/sdk.gen'
import { client } from './hey/client.gen'
client.setConfig({ baseUrl: origin })`,
    call: (route: Route) =>
      `(await sdk.${route.id}(${route.params === undefined ? '' : `{ path: ${JSON.stringify(paramsOf(route))}}`})).response?.status`,
  },
  orval: {
    generate: () =>
      run(
        installed('orval'),
        '--input',
        'openapi.json',
        '--output',
        'orval.ts',
        '--client',
        'fetch',
      ),
    imports: `import * as api from './orval'
const send = globalThis.fetch
globalThis.fetch = (url, options) => send(new URL(String(url), origin), options)`,
    call: (route: Route) =>
      `(await api.${route.id}(${Object.values(paramsOf(route))
        .map((value) => JSON.stringify(value))
        .join(', ')})).status`,
  },
} as const

beforeAll(async () => {
  const openapi = await fetch(`${service.url}/openapi.json`)
  writeFileSync(join(folder, 'openapi.json'), await openapi.text())
  const compilerOptions = {
    strict: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2022', 'dom', 'dom.iterable'],
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
})

test.each(Object.entries(generators))(
  'the client of %s compiles with strict types and calls every public read',
  async (_name, { generate, imports, call }) => {
    await generate()
    const program = `const origin = '${service.url}'
${imports}
const calls: [string, () => Promise<number | undefined>][] = [
${callsOf(call)}
]
const statuses: Record<string, number | undefined> = {}
for (const [id, send] of calls) statuses[id] = await send()
console.log(JSON.stringify(statuses))
`
    writeFileSync(join(folder, 'use.ts'), program)
    await run(installed('tsc'), '-p', folder).catch((error: unknown) => {
      throw new Error(z.object({ stdout: z.string() }).parse(error).stdout.slice(0, 4000))
    })
    const file = join(folder, 'use.mjs')
    await build({ cwd: folder, input: join(folder, 'use.ts'), platform: 'node', output: { file } })
    const { stdout } = await run(process.execPath, file)
    const statuses = z.record(z.string(), z.number()).parse(JSON.parse(stdout))
    expect(Object.keys(statuses)).toEqual(reads.map(({ id }) => id))
    const found = Object.values(statuses).filter((status) => status === 200)
    expect(reads.length).toBeGreaterThanOrEqual(30)
    // The other paths name what this ledger does not have.
    expect(found.length, stdout).toBeGreaterThanOrEqual(25)
    expect(Object.values(statuses).every((status) => [200, 404, 503].includes(status))).toBe(true)
  },
)
