import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, onTestFinished, test } from 'vitest'

import { docsPages } from '../../../builder/site/docs/page.ts'
import { loadAuthored } from '../../../builder/world/authored.ts'
import type { World } from '../../../builder/world/world.ts'
import { stacked } from '../../../src/pages/blocks.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { startSite } from '../../site/site-server.ts'
import { fullWorld } from '../../site/worlds.ts'
import { handClock } from '../../support/http-service.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'

allowSlowTests('starts a compiled script')

// The scripts sign with the time of this machine.
const clock = { ...handClock(), now: systemClock.now }
const service = useService({ documents: [], options: () => ({ clock }) })
const ledger = useService({ options: () => ({ clock }) })

/** Saves the script in the Markdown of a guide, runs it and returns its output. */
async function runScriptOf(path: string, world: World): Promise<string> {
  const page = docsPages()(world).find((candidate) => candidate.path === path)
  const blocks = typeof page?.body === 'object' ? page.body : []
  const [, script = ''] = /```js\n([\s\S]*?)\n```/.exec(stacked(blocks).md) ?? []
  const file = join(tempFolder(), 'script.mjs')
  writeFileSync(file, script)
  return (await promisify(execFile)(process.execPath, [file])).stdout
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

test('the script of the guide to disputes opens one about a published document', async () => {
  const world = fullWorld('https://ledger.test')
  const site = { ...world.site, url: ledger.url }
  const output = await runScriptOf('/docs/disputing', { ...world, site })
  expect(output).toMatch(/^201 \{/)
  expect(output).toContain("claim: 'The list lacks our rail.'")
})

test('the script of the verifying guide accepts a published document', async () => {
  const site = await startSite((url) => fullWorld(url))
  onTestFinished(site.stop)
  expect(await runScriptOf('/docs/verifying', fullWorld(site.url))).toBe('good\n')
})
