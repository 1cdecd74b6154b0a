import { execFile } from 'node:child_process'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { docsPages } from '../../../builder/site/docs/page.ts'
import { loadAuthored } from '../../../builder/world/authored.ts'
import type { World } from '../../../builder/world/world.ts'
import oaths from '../../../data/oaths.json' with { type: 'json' }
import { alertEvent } from '../../../src/contract/schemas/alert.ts'
import { isoTime } from '../../../src/core/time.ts'
import { alertPayload } from '../../../src/db/alerts.ts'
import { appendEvent } from '../../../src/db/events.ts'
import { webhookHeaders } from '../../../src/outbound/standard-webhook.ts'
import { stacked } from '../../../src/pages/blocks.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { startSite } from '../../site/site-server.ts'
import { fullWorld } from '../../site/worlds.ts'
import { runSample } from '../../support/guides.ts'
import { handClock, jsonDocument } from '../../support/http-service.ts'
import { serveDuringTest } from '../../support/local-server.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'

allowSlowTests('starts a compiled script')

// The scripts sign with the time of this machine.
const clock = { ...handClock(), now: systemClock.now }
const documents = [jsonDocument('/api/v1/oaths', oaths)]
const service = useService({ documents, options: () => ({ clock }) })
const ledger = useService({ options: () => ({ clock }) })

function markdownOf(path: string, world: World): string {
  const page = docsPages()(world).find((candidate) => candidate.path === path)
  return stacked(typeof page?.body === 'object' ? page.body : []).md
}

/** A script in the Markdown of a guide. */
function scriptOf(path: string, world: World, at = 0): string {
  const scripts = [...markdownOf(path, world).matchAll(/```js\n([\s\S]*?)\n```/g)]
  return scripts[at]?.[1] ?? ''
}

/** Saves and runs a script, which finds the packages of this repository. Returns its output. */
async function run(script: string, cwd: string, ...args: readonly string[]): Promise<string> {
  writeFileSync(join(cwd, 'script.mjs'), script)
  return (await promisify(execFile)(process.execPath, ['script.mjs', ...args], { cwd })).stdout
}

const runScriptOf = async (path: string, world: World) =>
  await run(scriptOf(path, world), tempFolder())

async function writableWorld(): Promise<World> {
  const world = fullWorld('https://ledger.test')
  const { taxonomy } = await loadAuthored('data')
  return {
    ...world,
    taxonomy: { ...taxonomy, skills: [...taxonomy.skills] },
    site: { ...world.site, url: service.url },
  }
}

test.each([
  ['a NEAR wallet', [], 'ed25519.pem', '[0-9a-f]{64}'],
  ['an EVM wallet', ['evm'], 'evm.key', '0x[0-9a-fA-F]{40}'],
] as const)(
  'the script of the signing guide registers %s, submits its receipt and keeps its key',
  async (_name, args, keyFile, form) => {
    const folder = tempFolder()
    symlinkSync(new URL('../../../node_modules', import.meta.url), join(folder, 'node_modules'))
    const script = scriptOf('/docs/signing', await writableWorld())
    const first = await run(script, folder, ...args)
    const [, wallet = ''] = new RegExp(`^201 \\{\\s+wallet: '(${form})'`).exec(first) ?? []
    expect(wallet, first).not.toBe('')
    expect(first).toMatch(/\n201 \{\s+receipt_id: 'rcp_[0-9a-f]{64}'/)
    expect(statSync(join(folder, keyFile)).mode & 0o777).toBe(0o600)
    expect(await run(script, folder, ...args)).toContain(`wallet: '${wallet}'`)
  },
)

test('the script of the signing guide, continued by the guide for partners, signs one up', async () => {
  const world = await writableWorld()
  const script = ['/docs/signing', '/docs/becoming-a-partner'].map((path) => scriptOf(path, world))
  const output = await run(script.join('\n'), tempFolder())
  expect(output).toMatch(/\n201 \{[^]*handle: 'acme-agents'[^]*\n200 \{[^]*tier: 'free'/)
})

const isOurs = (given: string) =>
  `${scriptOf('/docs/webhooks', fullWorld(service.url))}\nconsole.log(isOurs(${given}))`

test('the delivery in the guide to webhooks is one of the service and passes both checks of the guide', async () => {
  const guide = markdownOf('/docs/webhooks', fullWorld(service.url))
  const [, secret = ''] = /`(whsec_[^`]+)`/.exec(guide) ?? []
  const [, head = '', body = ''] = /```http\n([^]*?)\n\n([^]*?)\n```/.exec(guide) ?? []
  const headers = Object.fromEntries(
    [...head.matchAll(/^(webhook-\w+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
  const { 'webhook-id': id = '', 'webhook-timestamp': time = '' } = headers
  const sent = { id, timeMs: Number(time) * 1000, payload: body, secrets: [secret] }
  expect(webhookHeaders(sent)).toEqual(headers)
  const { data } = z.object({ data: alertEvent }).parse(JSON.parse(body))
  expect(alertPayload(data)).toBe(body)
  const given = [headers, body, secret].map((value) => JSON.stringify(value)).join(', ')
  const inJs = `Date.now = () => ${time}000\n${isOurs(given)}`
  expect(await run(inJs, tempFolder())).toBe('true\n')
  const [, python = ''] = /```py\n([^]*?)\n```/.exec(guide) ?? []
  const inPython = `${python}\ntime.time = lambda: ${time}\nprint(is_ours(${given}))`
  const { out } = await runSample({ language: 'py', code: inPython }, tempFolder())
  expect(out.trim()).toBe('True')
})

test('the script of the guide to webhooks posts events of the feed to this machine, signed as deliveries', async () => {
  const received: { readonly headers: object; readonly body: string }[] = []
  const hook = await serveDuringTest((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString() })
      response.end()
    })
  })
  const event = {
    id: 'evt_1',
    kind: 'rail_transition',
    rail: 'x402',
    title: 'news',
    data: {},
  } as const
  await service.actions.database.write((tx) =>
    appendEvent(tx, { ...event, severity: 'critical', createdAt: isoTime(clock.now()) }),
  )
  const world = await writableWorld()
  const script = [
    scriptOf('/docs/signing', world),
    scriptOf('/docs/becoming-a-partner', world).replace('acme-agents', 'local-agents'),
    scriptOf('/docs/webhooks', world, 1).replace('http://localhost:3000', hook),
  ].join('\n')
  const output = await run(script, tempFolder())
  const [, secret] = /secret: (whsec_\S+)/.exec(output) ?? []
  expect(output).toContain('rail_transition 200')
  expect(received).toHaveLength(1)
  const given = [received[0]?.headers, received[0]?.body, secret]
  const check = isOurs(given.map((value) => JSON.stringify(value)).join(', '))
  expect(await run(check, tempFolder())).toBe('true\n')
})

test('the script of the guide to disputes opens one about a published document and keeps its key', async () => {
  const world = fullWorld('https://ledger.test')
  const site = { ...world.site, url: ledger.url }
  const folder = tempFolder()
  const script = scriptOf('/docs/disputing', { ...world, site })
  const first = await run(script, folder)
  expect(first).toMatch(/^201 \{/)
  expect(first).toContain("claim: 'The list lacks our rail.'")
  expect(statSync(join(folder, 'ed25519.pem')).mode & 0o777).toBe(0o600)
  // The wallet is the same: it has one undecided dispute per target.
  expect(await run(script, folder)).toMatch(/^409 \{/)
})

test('the script of the verifying guide accepts a published document', async () => {
  const site = await startSite((url) => fullWorld(url))
  onTestFinished(site.stop)
  expect(await runScriptOf('/docs/verifying', fullWorld(site.url))).toBe('good\n')
})
