import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { docsPages } from '../../../builder/site/docs/page.ts'
import { loadAuthored } from '../../../builder/world/authored.ts'
import type { World } from '../../../builder/world/world.ts'
import { stacked } from '../../../src/pages/blocks.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { startSite } from '../../site/site-server.ts'
import { fullWorld } from '../../site/worlds.ts'
import { handClock, publicDir, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts a compiled script')

let published: PublicDir
let service: Service
let dir: string

beforeAll(async () => {
  published = await publicDir()
  // The scripts sign with the time of this machine, however long they take.
  service = await startService(published.dir, { clock: { ...handClock(), now: systemClock.now } })
  dir = mkdtempSync(join(tmpdir(), 'ledger-scripts-'))
})
afterAll(async () => {
  rmSync(dir, { recursive: true })
  await service.stop()
  await published.remove()
})

/** Runs the script of a guide as a reader of its Markdown would save it, and returns its output. */
async function runScriptOf(path: string, world: World): Promise<string> {
  const page = docsPages(world).find((candidate) => candidate.path === path)
  const blocks = typeof page?.body === 'object' ? page.body : []
  const [, script = ''] = /```js\n([\s\S]*?)\n```/.exec(stacked(blocks).md) ?? []
  const file = join(dir, 'script.mjs')
  writeFileSync(file, script)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  await once(child, 'close')
  return output
}

test('the script of the signing guide registers a wallet and submits its receipt', async () => {
  const world = fullWorld('https://ledger.test')
  const { taxonomy } = await loadAuthored('data')
  const output = await runScriptOf('/docs/signing', {
    ...world,
    taxonomy: { ...taxonomy, skills: [...taxonomy.skills] },
    site: { ...world.site, url: service.url },
  })
  expect(output).toMatch(/^201 \{\s+wallet: '[0-9a-f]{64}'/)
  expect(output).toMatch(/\n201 \{\s+receipt_id: 'rcp_[0-9a-f]{64}'/)
})

test('the script of the verifying guide accepts a published document', async () => {
  const site = await startSite((url) => fullWorld(url))
  try {
    expect(await runScriptOf('/docs/verifying', fullWorld(site.url))).toBe('good\n')
  } finally {
    await site.stop()
  }
})
