import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { build } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createCheckThreads } from '../../src/auth/check-threads.ts'
import type { CheckThreads } from '../../src/auth/check-threads.ts'
import { checkHere, ed25519Check } from '../../src/auth/check.ts'
import type { SignatureCheck } from '../../src/auth/check.ts'
import { SchemeUnavailableError } from '../../src/auth/verdict.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { requestJson } from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'

allowSlowTests('starts threads')

const repository = new URL('../..', import.meta.url).pathname
const wallet = evmWallet('alice')
const key = ed25519Key('platform')
const services = useServices()

let dir: string
const open: CheckThreads[] = []
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

function threadsOf(entry: string, cores = 2): CheckThreads {
  const silent = () => undefined
  const log = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (message: string) => void said.push(message),
  }
  const threads = createCheckThreads(pathToFileURL(resolve(dir, entry)), { cores, log })
  open.push(threads)
  return threads
}

/** Starts threads that run `source` with `port`, `threadId`, `existsSync`, `writeFileSync` and `file`, a path for their state. */
function scripted(name: string, source: string, cores = 2, beforeReady = ''): CheckThreads {
  const file = JSON.stringify(join(dir, `${name}.state`))
  const head = `import { parentPort as port, threadId } from 'node:worker_threads'
import { existsSync, writeFileSync } from 'node:fs'
const file = ${file}
${beforeReady}
port.postMessage('ready')\n`
  writeFileSync(join(dir, `${name}.js`), head + source)
  return threadsOf(`${name}.js`, cores)
}

/** Exits at the first batch; the next thread finds every signature valid. */
const diesOnce = `port.on('message', ({ id, checks }) => {
  if (!existsSync(file)) { writeFileSync(file, ''); process.exit(1) }
  port.postMessage({ id, verdicts: checks.map(() => ({ valid: true })) })
})`

async function personal(message: string): Promise<SignatureCheck> {
  const signature = await wallet.sign(message)
  return { scheme: 'eip191', message, signature, address: wallet.address.toLowerCase() }
}

/** Ends the batch: the checks of one turn of the event loop form one. */
const endBatch = () => new Promise((resolve) => setImmediate(resolve))

test('two threads return the verdicts of an inline check', async () => {
  const output = { dir, entryFileNames: 'worker.js' }
  await build({ input: 'src/auth/check-worker.ts', cwd: repository, platform: 'node', output })
  const thread = threadsOf('worker.js', 3)
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
})

test('batches of checks that overtake each other keep their own verdicts', async () => {
  // The thread answers the first batch last.
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

test('a thread that exits rejects its unanswered checks, and the next check starts another', async () => {
  const thread = scripted('dies', diesOnce)
  const check = await personal('a message')
  const first = [thread.check(check), thread.check(check)]
  for (const one of first) await expect(one).rejects.toThrow(SchemeUnavailableError)
  expect(await thread.check(check)).toEqual({ valid: true })
})

test('signature checks run inline and a problem is reported where no thread loads', async () => {
  const check = await personal('a message')
  const thread = threadsOf('is not there.js')
  expect(thread.problem()).toBeNull()
  for (const message of ['a message', 'another']) {
    expect(await thread.check({ ...check, message })).toEqual(
      await checkHere({ ...check, message }),
    )
  }
  expect(said).toEqual(['signature worker thread failed'])
  expect(thread.problem()).toMatch(/^signatures: no worker thread/)
})

test('a check without a verdict in its batch is rejected', async () => {
  const forgets = scripted(
    'forgets',
    `port.on('message', ({ id }) => port.postMessage({ id, verdicts: [] }))`,
  )
  await expect(forgets.check(await personal('a message'))).rejects.toThrow(SchemeUnavailableError)
  expect(forgets.problem()).toBeNull()
})

/** Answers with its thread id; answers `hold` only after `release`, and exits at `die`. */
const obeys = `const held = []
const say = ({ id, checks }) => {
  port.postMessage({ id, verdicts: checks.map(() => ({ valid: false, reason: String(threadId) })) })
}
port.on('message', (batch) => {
  const [{ message }] = batch.checks
  if (message === 'die') process.exit(1)
  if (message === 'hold') { held.push(batch); return }
  say(batch)
  if (message === 'release') for (const one of held.splice(0)) say(one)
})`

/** Returns a function that sends a check with a message for the script. */
async function messagesTo(threads: CheckThreads) {
  const check = await personal('')
  return (message: string) => threads.check({ ...check, message })
}

test('waiting work starts a second thread on a second core, and one continues when the other exits', async () => {
  const threads = scripted('obeys', obeys, 3)
  const send = await messagesTo(threads)
  const first = await send('who')
  const ofFirst = send('hold')
  await endBatch()
  let second = first
  while (JSON.stringify(second) === JSON.stringify(first)) second = await send('who')
  const ofSecond = send('hold')
  await endBatch()
  // Both threads have equally many checks, so the first thread receives the next one.
  const ended = await Promise.allSettled([send('die'), ofFirst])
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([await send('release'), await ofSecond]).toEqual([second, second])
})

test('the next check starts a thread after the second failed to load and the first exited', async () => {
  // The second thread that is started fails to load.
  const failure = `const [one, two] = [file + '1', file + '2']
if (existsSync(one) && !existsSync(two)) { writeFileSync(two, ''); throw new Error('not loaded') }
writeFileSync(one, '')`
  const threads = scripted('second-fails', obeys, 3, failure)
  const send = await messagesTo(threads)
  const byThread = { valid: false, reason: expect.stringMatching(/^\d+$/) as unknown }
  const first = await send('who')
  expect(first).toEqual(byThread)
  const held = send('hold')
  await endBatch()
  const hasFailed = new Promise<void>((resolve) => {
    process.once('worker', (second) => second.once('exit', () => resolve()))
  })
  expect(await send('who')).toEqual(first)
  await hasFailed
  const ended = await Promise.allSettled([send('die'), held])
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const third = await send('who')
  expect(third).toEqual(byThread)
  expect(third).not.toEqual(first)
})

test('one core gets one thread', async () => {
  const threads = scripted('alone', obeys)
  const send = await messagesTo(threads)
  const held = send('hold')
  await endBatch()
  const said: unknown[] = []
  for (let at = 0; at < 40; at += 1) said.push(await send('who'))
  said.push(await send('release'), await held)
  expect(new Set(said.map((verdict) => JSON.stringify(verdict))).size).toBe(1)
})

test('closing the check threads rejects unanswered and later checks', async () => {
  const threads = scripted('left', obeys, 3)
  const send = await messagesTo(threads)
  const left: Promise<unknown>[] = []
  for (let at = 0; at < 3; at += 1) {
    left.push(send('hold'))
    await endBatch()
  }
  const settled = Promise.allSettled([...left, send('hold')])
  await threads.close()
  expect((await settled).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await expect(send('who')).rejects.toThrow(SchemeUnavailableError)
})

test('a receipt whose check was interrupted gets 503, leaves no row, and is accepted when it is sent again', async () => {
  const thread = scripted('interrupted', diesOnce)
  const service = await services.start({
    actions: { ...(await platformActions(key)), signatures: { check: thread.check } },
  })
  const body = await submission(wallet, issued(receiptFacts(wallet), key), service.clock.now())
  const rows = () => service.actions.database.reader.selectFrom('receipts').select('id').execute()
  const post = async () => (await requestJson(service, '/api/v1/receipts', { body })).status
  expect([await post(), await rows()]).toEqual([503, []])
  expect([await post(), await rows()]).toMatchObject([201, [{}]])
})
