/** The page `/verify` in a browser, with a log of the test. */
import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'

import { keyTitle } from '../../src/core/tlog/note.ts'
import { policyText } from '../../src/core/tlog/policy.ts'
import { createTestLog, logSigner, logKeyTitle, logVkey, testEntries } from '../support/test-log.ts'
import type { TestLog } from '../support/test-log.ts'
import { mlDsaCosignerOf } from '../support/witness.ts'
import { seriousViolations, useBrowser } from './browser.ts'
import { useSite } from './site-server.ts'
import { fullWorld } from './worlds.ts'

let log: TestLog
const cosigner = mlDsaCosignerOf('witness.test', 8)
const witness = { ...cosigner, url: 'https://witness.test' }
const site = useSite(fullWorld, (path) => {
  if (path === '/log/policy') return policyText(logSigner.key, { witnesses: [witness], quorum: 1 })
  return path === '/log/vkey' ? logVkey : log.files.get(path.replace('/log/', ''))
})
const visit = useBrowser(() => site.url)

beforeEach(async () => {
  log = createTestLog()
  await log.grow(testEntries(0, 300))
})

async function verify(page: Page, text: string): Promise<string> {
  const output = page.locator('form output')
  await page.getByLabel('Receipt, document or proof').fill(text)
  await page.getByRole('button', { name: 'Verify' }).click()
  await expect.poll(() => output.innerText()).not.toBe('')
  return await output.innerText()
}

test('the page /verify shows each step of a proof, and a fork of a log that it has seen before', async () => {
  const { page, problems } = await visit('/verify')
  const found = await verify(page, await log.prove(7))
  expect(found.split('\n').map((line) => line.split(':')[0])).toEqual([
    'good  checkpoint',
    'good  witnesses',
    'good  entry',
    'good  inclusion',
    'good  consistency',
    'All checks passed.',
  ])
  expect(found).toContain('not witnessed')
  expect(await seriousViolations(page)).toEqual([])

  // Another visit remembers the checkpoint.
  await page.reload()
  const older = log
  await older.grow(testEntries(300, 5))
  expect(await verify(page, await older.prove(301))).toContain('consistent with size 300')
  log = createTestLog()
  await log.grow(testEntries(1, 400))
  const fork = await verify(page, await log.prove(7))
  expect(fork).toContain('BAD   consistency: the log has forked: the checkpoint of size 400')
  expect(fork).toContain('NOT GOOD.')
  expect(problems).toEqual([])
})

test('the page /verify reads a file, and works without Ed25519 in Web Crypto', async () => {
  const { page, problems } = await visit()
  await page.addInitScript(() => {
    const refuse = () => Promise.reject(new DOMException('unknown', 'NotSupportedError'))
    Object.defineProperty(globalThis.crypto.subtle, 'importKey', { value: refuse })
  })
  await page.goto('/verify')
  const proof = Buffer.from(await log.prove(7))
  await page
    .getByLabel('File')
    .setInputFiles({ name: 'proof', mimeType: 'text/plain', buffer: proof })
  const field = page.getByLabel('Receipt, document or proof')
  await expect.poll(() => field.inputValue()).toBe(proof.toString())
  await page.getByRole('button', { name: 'Verify' }).click()
  await expect.poll(() => page.locator('form output').innerText()).toContain('All checks passed.')
  expect(problems).toEqual([])
})

test('the page /verify checks an ML-DSA-44 cosignature of a witness', async () => {
  const { page, problems } = await visit('/verify')
  const proof = await log.prove(7)
  const body = /ledger\.test\/log\n300\n.*\n/.exec(proof)?.[0] ?? ''
  const cosigned = await verify(page, `${proof}${cosigner.cosign(body, 9)}\n`)
  expect(cosigned).toContain('good  witnesses: witnessed by witness.test')
  const other = body.replace('300', '301')
  const forged = await verify(page, `${proof}${cosigner.cosign(other, 9)}\n`)
  expect(forged).toContain(`BAD   checkpoint: the signature by ${keyTitle(cosigner.key)}`)
  expect(problems).toEqual([])
})

test('the page /verify says in words what it cannot check', async () => {
  const { page } = await visit('/verify')
  expect(await verify(page, 'hello')).toContain('has no document with the SHA-256')
  const forged = (await log.prove(7)).replace('\n300\n', '\n301\n')
  expect(await verify(page, forged)).toContain(`BAD   checkpoint: the signature by ${logKeyTitle}`)
})
