/** The code of the guides, as a ledger that has just been started serves it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { runSample, samplesIn } from '../support/guides.ts'
import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { newLedger, stop, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const program = useProgram()
const ledger = newLedger(program, { POLL: 'off' })
const folder = mkdtempSync(join(tmpdir(), 'ledger-guides-'))
let service: Running
let url: string

beforeAll(async () => {
  ;({ service, url } = await ledger.start())
  await service.says('"message":"serving"')
})
afterAll(async () => {
  await stop(service)
  ledger.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** What the code of each guide prints, by language: a part of every block, in order. */
test.each([
  ['index', { sh: ['{"'] }],
  [
    'quickstart',
    {
      sh: ['"opportunities":', '"status":', 'X-Signature-Key: ', '<feed'],
      ts: ['rails pay', '[', 'ed25519:', '['],
      py: ['rails pay', '[', 'ed25519:', '['],
    },
  ],
  ['earning', { sh: ['"skills":'], ts: [/^\[\] \[\s*'\w/], py: [/^\[\] \['\w/] }],
  ['verifying', { sh: ['Signature Verified Successfully'], js: ['good'] }],
  ['signing', { js: [/^201 .*^201 /ms] }],
  ['disputing', { js: [/^201 /] }],
  ['mcp', { sh: ['list_rails'] }],
] as const)('the code of the guide %s runs as it is served', async (name, expected) => {
  const path = name === 'index' ? '/docs' : `/docs/${name}`
  const page = await fetch(`${url}${path}.md`)
  const text = (await page.text()).replaceAll('http://localhost:8787', url)
  const samples = samplesIn(text).filter(({ code }) => !code.startsWith('agent-income-ledger'))
  const found = Object.entries<readonly (string | RegExp)[]>(expected)
  expect(samples).toHaveLength(found.flatMap(([, parts]) => parts).length)
  for (const [language, parts] of found) {
    const own = samples.filter((sample) => sample.language === language)
    for (const [at, part] of parts.entries()) {
      const { code = '', ...sample } = own[at] ?? { language: 'sh' }
      const checked = language === 'sh' ? `curl() { command curl --fail "$@"; }\n${code}` : code
      const result = await runSample({ ...sample, code: checked }, folder)
      expect([code, result.code, result.err]).toEqual([code, 0, ''])
      expect(result.out).toMatch(part)
    }
  }
})
