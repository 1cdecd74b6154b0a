import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createCheckThread } from '../../src/auth/check-thread.ts'
import type { CheckThread } from '../../src/auth/check-thread.ts'
import { checkHere, ed25519Check } from '../../src/auth/check.ts'
import type { SignatureCheck } from '../../src/auth/check.ts'
import { SchemeUnavailableError } from '../../src/auth/verdict.ts'
import { loadReference } from '../../src/reference.ts'
import { compile } from '../support/compile.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import { issued, receiptFacts, submission, withPlatform } from '../support/receipts.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'

const repository = new URL('../..', import.meta.url).pathname
const wallet = evmWallet('alice')
const key = ed25519Key('platform')

let dir: string
const open: CheckThread[] = []
const said: string[] = []

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ledger-thread-'))
  symlinkSync(join(repository, 'node_modules'), join(dir, 'node_modules'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
})
afterAll(async () => {
  for (const thread of open) await thread.close()
  rmSync(dir, { recursive: true, force: true })
})

function threadOf(entry: string): CheckThread {
  const silent = () => undefined
  const log = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (message: string) => void said.push(message),
  }
  const thread = createCheckThread(pathToFileURL(resolve(dir, entry)), log)
  open.push(thread)
  return thread
}

/** A thread that does what `source` says with `port`, `existsSync`, `writeFileSync` and the path of a `file` of its own. */
function scripted(name: string, source: string): CheckThread {
  const file = JSON.stringify(join(dir, `${name}.state`))
  const head = `import { parentPort as port } from 'node:worker_threads'
import { existsSync, writeFileSync } from 'node:fs'
const file = ${file}
port.postMessage('ready')\n`
  writeFileSync(join(dir, `${name}.js`), head + source)
  return threadOf(`${name}.js`)
}

/** Ends at the first batch that it ever gets; the thread after it finds everything valid. */
const diesOnce = `port.on('message', ({ id, checks }) => {
  if (!existsSync(file)) { writeFileSync(file, ''); process.exit(1) }
  port.postMessage({ id, verdicts: checks.map(() => ({ valid: true })) })
})`

async function personal(message: string): Promise<SignatureCheck> {
  const signature = await wallet.sign(message)
  return { scheme: 'eip191', message, signature, address: wallet.address.toLowerCase() }
}

test('the thread finds what a check on the spot finds, each for its own question', async () => {
  const workerFile = 'src/auth/check-worker.ts'
  const compiled = compile(workerFile)
  const thread = threadOf(compiled.scriptOf(workerFile))
  const checks: SignatureCheck[] = []
  for (let at = 0; at < 40; at += 1) {
    const good = await personal(`message ${at}`)
    const signature = Buffer.from(key.sign(`text ${at}`), 'base64')
    const publicKey = Buffer.from(key.base64, 'base64')
    checks.push(
      good,
      at % 3 === 0 ? { ...good, message: 'another' } : good,
      ed25519Check(at % 5 === 0 ? 'another' : `text ${at}`, signature, publicKey),
    )
  }
  const verdicts = await Promise.all(checks.map((check) => thread.check(check)))
  expect(verdicts).toEqual(await Promise.all(checks.map(checkHere)))
  expect(verdicts.filter(({ valid }) => valid)).toHaveLength(40 + 26 + 32)
  compiled.remove()
})

test('a batch that overtakes another takes nothing of its verdicts', async () => {
  // Holds the first batch until the last has been answered.
  const thread = scripted(
    'overtakes',
    `let held = null
port.on('message', (batch) => {
  const verdicts = batch.checks.map(({ message }) => ({ valid: false, reason: message }))
  const answer = { id: batch.id, verdicts }
  if (held === null) { held = answer; return }
  port.postMessage(answer)
  port.postMessage(held)
})`,
  )
  const checks = await Promise.all(Array.from({ length: 20 }, (_, at) => personal(`number ${at}`)))
  const verdicts = await Promise.all(checks.map((check) => thread.check(check)))
  expect(verdicts).toEqual(checks.map(({ message }) => ({ valid: false, reason: message })))
})

test('a thread that ends refuses what it had not answered, and the next check starts another', async () => {
  const thread = scripted('dies', diesOnce)
  const check = await personal('a message')
  const first = [thread.check(check), thread.check(check)]
  for (const one of first) await expect(one).rejects.toThrow(SchemeUnavailableError)
  expect(await thread.check(check)).toEqual({ valid: true })
})

test('where no thread can be loaded the checks are made on the spot, and the operator is told', async () => {
  const check = await personal('a message')
  const thread = threadOf('is not there.js')
  expect(thread.problem()).toBeNull()
  for (const message of ['a message', 'another']) {
    expect(await thread.check({ ...check, message })).toEqual(
      await checkHere({ ...check, message }),
    )
  }
  expect(said).toEqual(['the thread that checks signatures has failed'])
  expect(thread.problem()).toMatch(/^signatures: no thread/)
})

test('a thread that answers too little is no verdict', async () => {
  const forgets = scripted(
    'forgets',
    `port.on('message', ({ id }) => port.postMessage({ id, verdicts: [] }))`,
  )
  await expect(forgets.check(await personal('a message'))).rejects.toThrow(SchemeUnavailableError)
  expect(forgets.problem()).toBeNull()
})

test('after its end nothing is checked any more', async () => {
  const thread = scripted('closed', diesOnce)
  await thread.close()
  await expect(thread.check(await personal('a message'))).rejects.toThrow(SchemeUnavailableError)
})

test('a receipt whose check was interrupted is answered 503, leaves nothing, and is taken when it is sent again', async () => {
  const published = await publicDir()
  await published.publish(sampleDocuments)
  const reference = withPlatform(await loadReference('data'), key)
  const thread = scripted('interrupted', diesOnce)
  const service = await startService(published.dir, {
    actions: { reference: () => reference, checkAside: thread.check },
  })
  const body = await submission(wallet, issued(receiptFacts(wallet), key), service.clock.now())
  const rows = () => service.actions.database.reader.selectFrom('receipts').select('id').execute()
  const post = () =>
    fetch(`${service.url}/api/v1/receipts`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  const refused = await post()
  expect([refused.status, await rows()]).toEqual([503, []])
  const taken = await post()
  expect([taken.status, await rows()]).toMatchObject([201, [{}]])
  await service.stop()
  await published.remove()
})
