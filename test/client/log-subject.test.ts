/** What the page `/verify` runs, and the commands that it gives, over real HTTP. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { receiptId, sha256Hex, signingText } from '../../src/auth/messages.ts'
import { noteSigner } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { verifyInLog } from '../../src/client/log-subject.ts'
import type { CheckpointStore } from '../../src/client/log.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { manifestSetText } from '../../src/core/documents.ts'
import { promiseText } from '../../src/core/tlog/entry.ts'
import { formatNote, keyTitle } from '../../src/core/tlog/note.ts'
import { policyText } from '../../src/core/tlog/policy.ts'
import { tempFolder } from '../db/temp-database.ts'
import { execute, runCommand } from '../support/command-line.ts'
import { handClock } from '../support/http-service.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { createTestLog, logSigner, serveTestLog, testEntries } from '../support/test-log.ts'
import { ed25519Key } from '../support/wallets.ts'
import { cosignerOf, mlDsaCosignerOf } from '../support/witness.ts'
import type { Cosigner } from '../support/witness.ts'

allowSlowTests('starts curl and openssl')

const receipt = {
  rail: 'x402',
  amount_usdc: '1.00',
  worker_signature: 'ed25519:x',
  public_key: 'y',
}
const receiptText = canonicalize(receipt)
const id = receiptId(receipt)
const document = '{"rails":[]}'
const documents = [
  {
    path: '/api/v1/rails',
    file: 'api/v1/rails.json',
    size: document.length,
    content_type: 'application/json',
    sha256: sha256Hex(document),
    signature: `${'A'.repeat(86)}==`,
    kid: 'ab'.repeat(8),
    changed_at: '2026-11-01T00:00:00.000Z',
    max_age: 60,
    encodings: {},
  },
]
const manifest = canonicalize({
  site_url: 'https://ledger.test',
  version: 4,
  count: 1,
  previous: null,
  expires: '2026-11-03T00:00:00.000Z',
  computed_at: '2026-11-01T00:00:00.000Z',
  set_sha256: sha256Hex(manifestSetText(documents)),
  documents,
})
const at = '2026-11-02T00:00:00.000Z'
const nowMs = Date.parse('2026-11-03T00:00:00.000Z')
const promised = { sha256: sha256Hex(receiptText), by: '2026-11-02T00:01:00.000Z' }
const logged = [
  { v: 1, kind: 'receipt', at, id, sha256: sha256Hex(receiptText) },
  { v: 1, kind: 'snapshot', at, id: '4', sha256: sha256Hex(manifest), version: 4 },
]

test('a checkpoint is shown as witnessed once the quorum that the site names has signed it', async () => {
  const log = createTestLog()
  await log.grow(testEntries(0, 20))
  const [first, second] = [cosignerOf('w7.test', 7), mlDsaCosignerOf('w8.test', 8)]
  const witnesses = [first, second].map(({ key }) => ({ key, url: 'https://w.test' }))
  const verified = async (signers: readonly Cosigner[], quorum: number) => {
    const policy = policyText(logSigner.key, { witnesses, quorum })
    const { url } = await serveTestLog(() => log, { '/log/policy': () => policy })
    const [start = '', note = ''] = (await log.prove(3)).split(/(?<=\n\n)(?=ledger)/)
    const text = note.slice(0, note.indexOf('\n\n') + 1)
    const lines = signers.map(({ cosign }) => `${cosign(text, 9)}\n`)
    return await verify(url, [start, note, ...lines].join(''))
  }
  expect(await verified([], 1)).toContain('good witnesses: not witnessed\n')
  expect(await verified([first], 2)).toContain('good witnesses: not witnessed\n')
  expect(await verified([first], 1)).toContain('good witnesses: witnessed by w7.test\n')
  expect(await verified([second], 1)).toContain('good witnesses: witnessed by w8.test\n')
  const both = await verified([first, second], 2)
  expect(both).toContain('good witnesses: witnessed by w7.test, w8.test\n')
  for (const { key, cosign } of [first, second]) {
    const forger: Cosigner = { key, cosign: (text) => cosign(text.replace('20', '21'), 9) }
    const forged = await verified([forger], 1)
    expect(forged).toContain(`BAD checkpoint: the signature by ${keyTitle(key)} is not valid`)
  }
})

test('a platform’s key counts for receipts that were logged before its revocation', async () => {
  const issued = { rail: 'x402', platform: 'acme', platform_signature: 'ed25519:x' }
  const text = canonicalize(issued)
  const log = createTestLog()
  const entry = { v: 1, kind: 'receipt', at, id: receiptId(issued), sha256: sha256Hex(text) }
  await log.grow([...testEntries(0, 20), entry])
  const proof = await log.prove(20)
  const verified = async (revocation: object) => {
    const platforms = canonicalize({ platforms: [{ platform: 'acme', ...revocation }] })
    const { url } = await serveTestLog(() => log, {
      [`/api/v1/receipts/${receiptId(issued)}/proof`]: () => proof,
      '/api/v1/platforms': () => platforms,
    })
    return await verify(url, text)
  }
  expect(await verified({})).not.toContain('key:')
  expect(await verified({ revoked_index: 21 })).toContain(
    'good key: entry 21 revokes it, after the receipt was logged',
  )
  expect(await verified({ revoked_index: 19 })).toContain(
    'BAD key: entry 19 revokes it, before the receipt was logged',
  )
})

async function site({ withProof = true } = {}) {
  const log = createTestLog()
  await log.grow([...testEntries(0, 300), ...logged])
  const files: Record<string, () => string> = { '/snapshot.json': () => manifest }
  if (withProof) {
    const proofs = [await log.prove(300), await log.prove(301)]
    files[`/api/v1/receipts/${id}/proof`] = () => proofs[0] ?? ''
    files['/snapshot.json.tlog-proof'] = () => proofs[1] ?? ''
  } else {
    const text = promiseText({ origin: logSigner.key.name, kind: 'receipt', id, ...promised })
    const promise = formatNote({ text, signatures: [logSigner.sign(text)] })
    files['/promise'] = () => promise
  }
  const { url } = await serveTestLog(() => log, files)
  return { log, url, files }
}

function memory(): CheckpointStore {
  let kept: string | null = null
  return {
    load: () => Promise.resolve(kept),
    save: (note) => {
      kept = note
      return Promise.resolve()
    },
  }
}

async function verify(url: string, subject: string, store = memory()): Promise<string> {
  const checks = await verifyInLog(Buffer.from(subject), {
    store,
    isSigned: (...parts) => verifyEd25519(...parts).valid,
    read: async (path) => {
      const response = await fetch(`${url}${path}`)
      return response.ok ? new Uint8Array(await response.arrayBuffer()) : null
    },
  })
  return checks
    .map(({ good, what, detail }) => `${good ? 'good' : 'BAD'} ${what}: ${detail}\n`)
    .join('')
}

const steps = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(':', 1)[0])
const proofSteps = ['checkpoint', 'witnesses', 'entry', 'inclusion', 'consistency']
const good = (names: readonly string[]) => names.map((name) => `good ${name}`)

test.each([
  ['a receipt', receiptText],
  ['an answer with a receipt', JSON.stringify({ receipt_id: id, content: receipt })],
])('%s is verified by its proof', async (_, subject) => {
  const { url } = await site()
  expect(steps(await verify(url, subject))).toEqual(good(['receipt', ...proofSteps]))
})

test.each([
  ['a document', document],
  ['the manifest', manifest],
])('%s is verified by the proof of the manifest, or by a search', async (_, subject) => {
  const { url } = await site()
  expect(steps(await verify(url, subject))).toEqual(good(['document', ...proofSteps]))
  const found = await verify((await site({ withProof: false })).url, subject)
  expect(steps(found)).toEqual(
    good(['document', 'checkpoint', 'witnesses', 'consistency', 'entry']),
  )
  expect(found).toContain('good entry: 301: snapshot')
})

test('a proof is verified, and a later one must continue its log', async () => {
  const { log, url } = await site()
  const store = memory()
  expect(steps(await verify(url, await log.prove(7), store))).toEqual(good(proofSteps))
  const fork = createTestLog()
  await fork.grow(testEntries(1, 302))
  expect(await verify(url, await fork.prove(7), store)).toContain(
    'BAD consistency: the log has forked',
  )
})

test.each([
  [
    'a changed receipt',
    receiptText.replace('1.00', '9.00'),
    'BAD answer: the site has no /api/v1/receipts/rcp_',
  ],
  [
    'a receipt with another signature',
    receiptText.replace('ed25519:x', 'ed25519:z'),
    'BAD entry: entry 300 has the sha256',
  ],
  [
    'a changed document',
    `${document} `,
    'BAD document: version 4 of the manifest has no document with the SHA-256',
  ],
  ['a malformed proof', 'c2sp.org/tlog-proof@v1\n', 'BAD proof: this is not a proof'],
])('verification in the log refuses %s', async (_, subject, message) => {
  const { url } = await site()
  expect(await verify(url, subject)).toContain(message)
})

test('a manifest that the log does not have is refused', async () => {
  const { url, files } = await site({ withProof: false })
  const other = manifest.replace('"version":4', '"version":5')
  files['/snapshot.json'] = () => other
  expect(await verify(url, document)).toContain('BAD entry: none of 302 entries is a snapshot')
})

async function verifyReceipt(url: string, text: string, ...args: string[]): Promise<string> {
  const file = join(tempFolder(), 'receipt.json')
  writeFileSync(file, text)
  const words = ['receipt', 'verify', file, '--log', ...args]
  return (await runCommand(words, { LEDGER_URL: url }, { fetch, clock: handClock(nowMs) })).out
}

test('receipt verify --log checks the proof of the ledger', async () => {
  const { url } = await site()
  expect(await verifyReceipt(url, receiptText)).toContain('good  inclusion: 5 hashes')
  const other = receiptText.replace('ed25519:x', 'ed25519:z')
  expect(await verifyReceipt(url, other)).toContain('BAD   entry: entry 300 has the sha256')
})

test('the log contains a receipt with all that its signature covers', async () => {
  const key = ed25519Key('worker')
  const facts = { rail: 'x402', to_wallet: 'w.near', amount_usdc: 1, public_key: key.base64 }
  const unsigned = {
    ...facts,
    worker_signature: '',
    wallet: 'w.near',
    timestamp: at,
    signature: '',
  }
  const worker_signature = key.sign(signingText(unsigned))
  const content = canonicalize({ ...unsigned, worker_signature })
  const whole = receiptId({ ...facts, worker_signature })
  const log = createTestLog()
  await log.grow([{ v: 1, kind: 'receipt', at, id: whole, sha256: sha256Hex(content) }])
  const proof = await log.prove(0)
  const { url } = await serveTestLog(() => log, {
    [`/api/v1/receipts/${whole}/proof`]: () => proof,
  })
  const submitted = content.replace('"signature":""', '"signature":"0xab"')
  for (const text of [content, submitted]) {
    const checked = await verifyReceipt(url, text)
    expect(checked).toContain('good  signature of the worker')
    expect(checked).toContain('good  inclusion')
  }
  expect(await verify(url, content)).toContain('good inclusion')
})

test('receipt verify --promise proves that a receipt was left out', async () => {
  const { url, files } = await site({ withProof: false })
  const file = join(tempFolder(), 'promise.txt')
  const promise = files['/promise']?.() ?? ''
  const verifyPromise = async (text: string) => {
    writeFileSync(file, text)
    return await verifyReceipt(url, receiptText, '--promise', file)
  }
  expect(await verifyPromise(promise)).toContain(
    `BAD   promise: signed by ledger.test/log, and broken: the receipt is not in the log, which was promised by ${promised.by}`,
  )
  const forged = promise.replace(promised.by, '2026-11-02T00:09:00.000Z')
  expect(await verifyPromise(forged)).toContain(
    'BAD   promise: is not a promise for this receipt that the log has signed',
  )
  const ofAnother = promise.replace(id, `rcp_${'ab'.repeat(32)}`).split('\n\n')[0] ?? ''
  const text = `${ofAnother}\n`
  const signed = formatNote({ text, signatures: [logSigner.sign(text)] })
  expect(await verifyPromise(signed)).toContain('BAD   promise: is not a promise for this receipt')
  const later = promiseText({
    origin: logSigner.key.name,
    kind: 'receipt',
    id,
    sha256: promised.sha256,
    by: '2026-11-04T00:00:00.000Z',
  })
  const waiting = await verifyPromise(
    formatNote({ text: later, signatures: [logSigner.sign(later)] }),
  )
  expect(waiting).toContain('good  promise: signed by ledger.test/log: in the log by 2026-11-04')
  expect(waiting).toContain('BAD   proof: the receipt is not in the log yet')

  const kept = await site()
  writeFileSync(file, promise)
  const answer = await verifyReceipt(kept.url, receiptText, '--promise', file)
  expect(answer).toContain('good  promise: signed by ledger.test/log')
  expect(answer).toContain('good  inclusion')
})

test('the commands of the page accept what the log has and nothing else', async () => {
  const page = readFileSync(new URL('../../data/docs/verify.md', import.meta.url), 'utf8')
  const recipe = /## With curl and OpenSSL.*?```sh\n(.*?)```/s.exec(page)?.[1] ?? ''
  const { log, url, files } = await site()
  const run = async () => {
    const script = recipe.replaceAll('{{site_url}}', url)
    return await execute('sh', ['-c', script], tempFolder())
  }
  const accepted = await run()
  expect(accepted.out).toContain('Signature Verified Successfully')
  expect(accepted.out).toContain('The log has the entry.')
  expect(accepted.code).toBe(0)

  const proof = await log.prove(301)
  const other = createTestLog(
    noteSigner(logSigner.key.name, signingKeyFromSeed(new Uint8Array(32).fill(4))),
  )
  await other.grow([...testEntries(0, 300), ...logged])
  // The id of a key is no proof of it.
  const byOther = (await other.prove(301)).replace(/\S+\n$/, '')
  for (const changed of [
    byOther.concat(Buffer.from(new Uint8Array(68)).toString('base64'), '\n'),
    await other.prove(301),
    proof.replace('\n302\n', '\n303\n'),
    proof.replace('index 301', 'index 300'),
    proof.replace(/(index 301\n)(.*\n)(.*\n)/, '$1$3$2'),
    await log.prove(300),
  ]) {
    files['/snapshot.json.tlog-proof'] = () => changed
    const refused = await run()
    expect(refused.code).toBe(1)
    expect(refused.out).not.toContain('The log has the entry.')
  }
})

test('the commands of the page accept the proof of every place in small logs', async () => {
  const page = readFileSync(new URL('../../data/docs/verify.md', import.meta.url), 'utf8')
  const recipe = /## With curl and OpenSSL.*?```sh\n(.*?)```/s.exec(page)?.[1] ?? ''
  for (const size of [1, 2, 5, 7]) {
    const log = createTestLog()
    const texts = Array.from({ length: size }, (_, index) => `document ${index}`)
    await log.grow(
      texts.map((text, index) => ({ ...testEntries(index, 1)[0], sha256: sha256Hex(text) })),
    )
    let index = 0
    const proofs = await Promise.all(texts.map(async (_, place) => await log.prove(place)))
    const { url } = await serveTestLog(() => log, {
      '/snapshot.json': () => texts[index] ?? '',
      '/snapshot.json.tlog-proof': () => proofs[index] ?? '',
    })
    for (; index < size; index += 1) {
      const script = recipe.replaceAll('{{site_url}}', url)
      const { code, out } = await execute('sh', ['-c', script], tempFolder())
      expect([size, index, code, out]).toEqual([
        size,
        index,
        0,
        expect.stringContaining('The log has the entry.'),
      ])
    }
  }
})
