/** The npm package of `npm run package`, installed in an empty folder: the samples of its guide, compiled and run. */
import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { build } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { useBrowser } from '../site/browser.ts'
import { handClock } from '../support/http-service.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
  // The clients sign with the time of the machine.
  options: () => ({
    clock: handClock(Date.now()),
    actions: { site: { serviceName: 'guided-ledger' } },
  }),
})
const visit = useBrowser(() => service.url)
const folder = mkdtempSync(join(tmpdir(), 'ledger-package-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const root = new URL('../..', import.meta.url).pathname
const run = async (program: string, args: readonly string[], cwd = folder) =>
  await promisify(execFile)(program, args, { cwd, maxBuffer: 1e8 }).catch((error: unknown) => {
    const { stdout, stderr } = z.object({ stdout: z.string(), stderr: z.string() }).parse(error)
    throw new Error(`${program} ${args.join(' ')}: ${stdout.slice(-2000)}${stderr.slice(-2000)}`)
  })
const guide = readFileSync(join(root, 'data/docs/client.md'), 'utf8')
const samples = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, sample = '']) => sample)
const names = samples.map((_, index) => `sample-${index + 1}`)
const manifest = z.object({ dependencies: z.record(z.string(), z.string()) })

beforeAll(async () => {
  await run('npm', ['run', '--silent', 'package'], root)
  await run('npm', ['pack', join(root, 'dist/package'), '--silent'])
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
  expect(statSync(join(folder, tarball)).size).toBeLessThanOrEqual(100_000)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const options = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--prefer-offline',
  ]
  const tools = ['typescript@5.9.3', '@types/node@20.19.43']
  await run('npm', ['install', ...options, `./${tarball}`, ...tools])
  mkdirSync(join(folder, 'src'))
  for (const [index, sample] of samples.entries()) {
    const source = sample
      .replaceAll('{{site_url}}', service.url)
      .replaceAll('{{service_name}}', service.actions.site.serviceName)
      .replaceAll('{{example_rail}}', sample.includes('signReceipt') ? 'x402' : 'alpha')
      .replaceAll('{{first_skill}}', [...service.actions.reference().skills][0] ?? '')
    writeFileSync(join(folder, `src/${names[index]}.ts`), source)
  }
  await compile({ module: 'node16', lib: ['es2022'], types: ['node'], outDir: 'out' })
}, 300_000)

async function compile(options: object): Promise<void> {
  const compilerOptions = { strict: true, target: 'es2022', skipLibCheck: false, ...options }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src'] }),
  )
  await run(join(folder, 'node_modules/.bin/tsc'), ['-p', folder])
}

const outputs = [
  /^\w+ /,
  /^signed: \w+\n$/,
  /^registered 0x[0-9a-fA-F]{40}\n$/,
  /^rcp_[0-9a-f]{64} unverified\n$/,
  /^404 unknown_rail .+\n$/,
]

test('the package has five dependencies, no scripts and no native code', () => {
  const installed = join(folder, 'node_modules/agent-income-ledger')
  const { dependencies, ...rest } = manifest
    .loose()
    .parse(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')))
  expect(Object.keys(dependencies).filter((name) => !name.startsWith('@noble/'))).toEqual(['zod'])
  expect(Object.keys(dependencies)).toHaveLength(5)
  const files = readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' })
  expect(files.filter((file) => file.endsWith('.node'))).toEqual([])
  expect(rest).not.toHaveProperty('scripts')
  expect(readFileSync(join(installed, 'client.js'), 'utf8')).not.toMatch(/\bBuffer\b(?!`)|node:/)
})

test('the guide compiles with strict settings for bundlers and browsers, checking the types of the package', async () => {
  await compile({
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
    noEmit: true,
  })
})

test.each([
  ['this Node', process.execPath, []],
  ['Node 24', 'npx', ['-y', '-p', 'node@24', 'node']],
  ['Node 26', 'npx', ['-y', '-p', 'node@26', 'node']],
  ['Bun', 'npx', ['-y', '-p', 'bun@1.4.5', 'bun']],
  ['Deno', 'npx', ['-y', '-p', 'deno@2.9.6', 'deno', 'run', '--allow-net']],
] as const)('the guide reads, verifies and writes on %s', async (_name, program, args) => {
  expect(samples).toHaveLength(outputs.length)
  for (const [index, output] of outputs.entries()) {
    const { stdout } = await run(program, [...args, join(folder, `out/${names[index]}.js`)])
    expect(stdout).toMatch(output)
  }
})

test('the guide reads, verifies and writes in Chromium, from another site', async () => {
  const site = await serveDuringTest((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' })
    response.end('<!doctype html><link rel="icon" href="data:,"><title>another site</title>')
  })
  const { page } = await visit()
  await page.goto(site)
  for (const [index, output] of outputs.entries()) {
    const input = join(folder, `out/${names[index]}.js`)
    const {
      output: [chunk],
    } = await build({ cwd: folder, input, platform: 'browser', write: false })
    const printed = await page.evaluate(`(async () => {
      const lines = []
      console.log = (...values) => lines.push(values.join(' ') + '\\n')
      await import(URL.createObjectURL(new Blob([${JSON.stringify(chunk.code)}], { type: 'text/javascript' })))
      return lines.join('')
    })()`)
    expect(printed).toMatch(output)
  }
})
