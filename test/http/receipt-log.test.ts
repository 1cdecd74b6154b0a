/** The place of a receipt in the log as its submitter sees it, verified with the published key alone. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { receiptId, sha256Hex } from '../../src/auth/messages.ts'
import { openCheckpoint } from '../../src/auth/notes.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { acceptedReceipt, receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { fromBase64, toBase64 } from '../../src/core/base64.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { isoTime, minuteMs } from '../../src/core/time.ts'
import { parseProof } from '../../src/core/tlog/checkpoint.ts'
import { parseEntry } from '../../src/core/tlog/entry.ts'
import { includes, leafHash } from '../../src/core/tlog/merkle.ts'
import { parseKey, parseNote, signaturesBy } from '../../src/core/tlog/note.ts'
import type { NoteKey } from '../../src/core/tlog/note.ts'
import { tempFolder } from '../db/temp-database.ts'
import { openExchange } from '../support/exchange.ts'
import { expectLogged, queued } from '../support/logged.ts'
import { publishLog } from '../support/publish-log.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'

const platformKey = ed25519Key('platform')
const alice = evmWallet('alice')
const service = useService({
  options: async () => ({
    actions: {
      ...(await platformActions(platformKey)),
      keys: { answers: () => ({ kid: key.kid, sign: (bytes) => signBytes(key, bytes) }) },
    },
  }),
})
const key = signingKeyFromSeed(new Uint8Array(32).fill(9))
const receipts = '/api/v1/receipts'

const fetchText = async (path: string) => await fetch(`${service.url}${path}`)

async function submit(amount: string) {
  const receipt = issued(receiptFacts(alice, { amount_usdc: amount }), platformKey)
  service.clock.advance(1)
  const body = await submission(alice, receipt, service.clock.now())
  return { receipt, body, id: receiptId(receipt), made: await service.postJson(receipts, body) }
}

async function logKey(): Promise<NoteKey> {
  const key = parseKey((await (await fetchText('/log/vkey')).text()).trim())
  if (key === null) throw new Error('no key')
  return key
}

test('an accepted receipt comes with a promise that the key of the log has signed', async () => {
  const acceptedAt = service.clock.now() + 1
  const { receipt, body, id, made } = await submit('1.5')
  const { promise = '' } = acceptedReceipt.parse(made.body).log
  const note = parseNote(promise)
  if (note === null) throw new Error('not a note')
  expect(note.text.split('\n')).toEqual([
    'log-promise-v1',
    'ledger.test/log',
    `receipt ${id}`,
    sha256Hex(canonicalize(receipt)),
    isoTime(acceptedAt + minuteMs),
    '',
  ])
  const log = await logKey()
  const [signed] = signaturesBy(log, note)
  if (signed === undefined) throw new Error('not signed')
  expect(verifyEd25519(signed.message, signed.signature, log.publicKey).valid).toBe(true)
  // The same for a repetition, for another submission, and for readers.
  expect((await service.postJson(receipts, body)).body['log']).toEqual({ promise })
  const detail = receiptDetail.parse((await service.getJson(`${receipts}/${id}`)).body)
  expect(detail.log).toEqual({ promise })
  const proof = await fetchText(`${receipts}/${id}/proof`)
  expect([proof.status, proof.headers.get('retry-after')]).toEqual([404, '2'])
  const unknown = await fetchText(`${receipts}/rcp_${'ab'.repeat(32)}/proof`)
  expect([unknown.status, unknown.headers.get('retry-after')]).toEqual([404, null])
})

test('a published receipt has an index and a proof that leads to the signed checkpoint', async () => {
  for (const amount of ['1', '2', '3']) await submit(amount)
  const { receipt, id } = await submit('4')
  await submit('5')
  await publishLog(service.actions, tempFolder())
  const proof = parseProof(await (await fetchText(`${receipts}/${id}/proof`)).text())
  if (proof?.entry === null || proof === null) throw new Error('no proof')
  const { entry, index, hashes } = proof
  expect(parseEntry(entry)).toMatchObject({
    kind: 'receipt',
    id,
    sha256: sha256Hex(canonicalize(receipt)),
  })
  const checkpoint = openCheckpoint(proof.checkpoint, await logKey())
  const leaf = leafHash(entry)
  expect(includes(checkpoint, { index, leaf, proof: hashes })).toBe(true)
  expect(includes(checkpoint, { index: index - 1, leaf, proof: hashes })).toBe(false)
  const log = { index, leaf_hash: toBase64(leaf) }
  expect((await service.getJson(`${receipts}/${id}`)).body['log']).toEqual(log)
  const again = await submission(alice, receipt, service.clock.now())
  expect((await service.postJson(receipts, again)).body['log']).toEqual(log)
})

test('answers about a receipt are signed over their bytes by the key of the service', async () => {
  const { id, body } = await submit('1')
  await publishLog(service.actions, tempFolder())
  const answers = await Promise.all([
    fetch(`${service.url}${receipts}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }),
    fetchText(`${receipts}/${id}`),
    fetchText(`${receipts}/${id}/proof`),
  ])
  for (const answer of answers) {
    const signature = fromBase64((answer.headers.get('x-signature') ?? '').replace('ed25519:', ''))
    expect(answer.headers.get('x-signature-key')).toBe(key.kid)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    expect(verifyEd25519(bytes, signature ?? new Uint8Array(), key.publicKey).valid).toBe(true)
    expect(verifyEd25519(bytes.slice(1), signature ?? new Uint8Array(), key.publicKey).valid).toBe(
      false,
    )
  }
})

test('a receipt whose transaction fails is not queued for the log', async () => {
  const { database } = service.actions
  const receipt = issued(receiptFacts(alice), platformKey)
  const body = await submission(alice, receipt, service.clock.now())
  // Written, and not read, after the entries have been queued.
  const rename = async (from: string, to: string) =>
    await database.write((tx) =>
      sql`alter table ${sql.ref(from)} rename to ${sql.ref(to)}`.execute(tx),
    )
  await rename('reputation_reviews', 'hidden')
  expect((await service.postJson(receipts, body)).status).toBe(500)
  await rename('hidden', 'reputation_reviews')
  expect(await queued(service)).toEqual([])
  expect((await service.postJson(receipts, body)).status).toBe(201)
  expect((await queued(service)).map(({ kind }) => kind)).toEqual(['receipt', 'reputation'])
  await expectLogged(service)
})

test('the receipt of an accepted job and what it earns are queued for the log', async () => {
  const exchange = await openExchange(service)
  const { id } = await exchange.delivered()
  expect((await exchange.act('poster', id, 'accept')).status).toBe(200)
  expect((await queued(service)).map(({ kind }) => kind)).toEqual(['receipt', 'reputation'])
  await expectLogged(service)
})
