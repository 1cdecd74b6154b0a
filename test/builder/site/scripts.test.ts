import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { stacked } from '../../../builder/site/blocks.ts'
import { signingPage } from '../../../builder/site/docs/signing.ts'
import { verifyingPage } from '../../../builder/site/docs/verifying.ts'
import type { SitePage } from '../../../builder/site/page.ts'
import { loadAuthored } from '../../../builder/world/authored.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { startSite } from '../../site/site-server.ts'
import { fullWorld } from '../../site/worlds.ts'
import { handClock, publicDir, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'

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

/** The script of a guide, as a reader of its Markdown would save it, and what it prints. */
async function run(page: SitePage): Promise<string> {
  const blocks = typeof page.body === 'function' ? page.body() : page.body
  const [, script = ''] = /```js\n([\s\S]*?)\n```/.exec(stacked(blocks).md) ?? []
  const file = join(dir, 'script.mjs')
  writeFileSync(file, script)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  await once(child, 'close')
  return said
}

test('the script of the signing guide registers a wallet and sends in its receipt', async () => {
  const { site, ...world } = fullWorld('https://ledger.test')
  const { taxonomy } = await loadAuthored('data')
  const said = await run(
    signingPage({
      ...world,
      taxonomy: { ...taxonomy, skills: [...taxonomy.skills] },
      site: { ...site, url: service.url },
    }),
  )
  expect(said).toMatch(/^201 \{\s+wallet: '[0-9a-f]{64}'/)
  expect(said).toMatch(/\n201 \{\s+receipt_id: 'rcp_[0-9a-f]{64}'/)
})

test('the script of the verifying guide finds a published document good', async () => {
  const site = await startSite((url) => fullWorld(url))
  try {
    expect(await run(verifyingPage(fullWorld(site.url)))).toBe('good\n')
  } finally {
    await site.stop()
  }
})
