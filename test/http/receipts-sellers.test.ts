import { beforeEach, describe, expect, test } from 'vitest'

import { signArtifact } from '../../src/auth/offer-receipt.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { verifyReceipt } from '../../src/auth/verify-receipt.ts'
import { chains } from '../../src/chain/chains.ts'
import { receiptDetail } from '../../src/contract/schemas/receipt.ts'
import type { JsonObject } from '../../src/core/canonical-json.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { startReceiver } from '../support/https-receiver.ts'
import type { Receiver } from '../support/https-receiver.ts'
import { submission } from '../support/receipts.ts'
import { expectRefusal } from '../support/requests.ts'
import { seller, sellerSigned } from '../support/seller.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const host = 'shop.example.com'
const kid = `did:web:${host}#key-1`
const payer = evmWallet('payer')
const key = signingKeyFromSeed(Buffer.alloc(32, 7))
const otherKey = signingKeyFromSeed(Buffer.alloc(32, 8))

let receiver: Receiver
let outbound: PinnedFetch
const service = useService({
  options: () =>
    Promise.resolve({ actions: { outbound: { send: (...args) => outbound(...args) } } }),
})
beforeEach(async () => {
  receiver = await startReceiver([host])
  outbound = receiver.fetch
  replyWithKeys([methodOf(key)])
  return () => receiver.stop()
})

const methodOf = ({ publicKey }: typeof key, id = kid) => ({
  id,
  type: 'JsonWebKey',
  controller: `did:web:${host}`,
  publicKeyJwk: {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(publicKey).toString('base64url'),
  },
})

function replyWithKeys(
  verificationMethod: readonly { readonly id: string }[],
  changes: object = {},
): void {
  const assertionMethod = verificationMethod.map(({ id }) => id)
  const document = { id: `did:web:${host}`, verificationMethod, assertionMethod, ...changes }
  receiver.reply((_request, res) => void res.writeHead(200).end(JSON.stringify(document)))
}

const offered = {
  version: 1,
  resourceUrl: `https://${host}/api/widget`,
  scheme: 'exact',
  network: 'eip155:8453',
  asset: chains.base.usdc.address,
  payTo: seller.address,
  amount: '250000',
}
const received = () => ({
  version: 1,
  network: 'eip155:8453',
  resourceUrl: offered.resourceUrl,
  payer: payer.address,
  issuedAt: Math.floor(service.clock.now() / 1000),
  transaction: `0x${'ab'.repeat(32)}`,
})

const bySite = (payload: object, signer = key) =>
  signArtifact(payload, kid, (bytes) => signBytes(signer, bytes))

function soldBySite(changes: object = {}, signer = key) {
  const receipt = { ...received(), ...changes }
  const { resourceUrl } = receipt
  return { receipt: bySite(receipt, signer), offer: bySite({ ...offered, resourceUrl }, signer) }
}

async function send(receipt: object, submitter = seller) {
  service.clock.advance(1)
  const body = await submission(submitter, { rail: 'x402', ...receipt }, service.clock.now())
  return await service.postJson('/api/v1/receipts', body)
}

async function detailOf({ body }: { readonly body: Record<string, unknown> }) {
  const { body: found } = await service.getJson(`/api/v1/receipts/${String(body['receipt_id'])}`)
  return receiptDetail.strict().parse(found)
}

describe('a receipt signed by a seller', () => {
  test('with the key of the paid wallet: it waits for the chain, which also says the amount', async () => {
    const receipt = await sellerSigned('Receipt', received())
    const answer = await send({ offer_receipt: { receipt } })
    expect(answer.status).toBe(201)
    const detail = await detailOf(answer)
    expect(detail).toMatchObject({
      kind: 'x402',
      authority: 'pay_to',
      chain: 'base',
      tx_hash: received().transaction,
      from_wallet: payer.address,
      to_wallet: seller.address,
      amount_usdc: 0,
      unknown_figures: ['amount_usdc'],
      verification: 'pending',
      rep_delta: 0,
      content: { rail: 'x402', offer_receipt: { receipt } },
    })
    expect(receiver.requests).toEqual([])
  })

  test('with its offer: the amount is the one that the seller asked', async () => {
    const receipt = await sellerSigned('Receipt', received())
    const offer = { ...(await sellerSigned('Offer', offered)), acceptIndex: 0 }
    const detail = await detailOf(await send({ offer_receipt: { receipt, offer } }))
    expect(detail).toMatchObject({
      amount_usdc: 0.25,
      verification: 'pending',
      rep_delta: 0,
    })
    expect(detail.unknown_figures).toBeUndefined()
  })

  test('with a key that its site lists: the site is read, and the key named', async () => {
    const answer = await send({ offer_receipt: soldBySite() })
    expect(answer.status).toBe(201)
    expect(await detailOf(answer)).toMatchObject({ authority: kid, to_wallet: seller.address })
    expect(receiver.requests).toMatchObject([
      { method: 'GET', path: '/.well-known/did.json', host },
    ])
  })

  test('a key with a relative id is found', async () => {
    replyWithKeys([{ id: '#other' }, methodOf(key, '#key-1')])
    expect((await send({ offer_receipt: soldBySite() })).status).toBe(201)
  })

  test('a repeat has the first answer, also after the site has dropped the key, which is not read again', async () => {
    const receipt = { rail: 'x402', offer_receipt: soldBySite() }
    const body = await submission(seller, receipt, service.clock.now())
    const repeat = () =>
      service.postJson('/api/v1/receipts', body, { 'Idempotency-Key': 'a-key-of-the-seller' })
    const first = await repeat()
    expect(first.status).toBe(201)
    replyWithKeys([])
    expect(await repeat()).toMatchObject({ status: 200, body: first.body })
    const again = await send(receipt)
    expect(again).toMatchObject({
      status: 200,
      body: { receipt_id: first.body['receipt_id'], log: first.body['log'] },
    })
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('the check of a receipt of a seller without the ledger', () => {
  const what = 'signature of the seller'
  const checkOf = async (offer_receipt: JsonObject) =>
    (await verifyReceipt({ rail: 'x402', offer_receipt }, new Map())).checks

  test('the signer of EIP-712 is found, and must be payTo of the offer', async () => {
    const receipt = await sellerSigned('Receipt', received())
    const offer = await sellerSigned('Offer', offered)
    const good = { what, good: true, detail: `by ${seller.id}, which must be to_wallet` }
    const answer = await send({ offer_receipt: { receipt, offer } })
    const { receipt_id: id, content } = await detailOf(answer)
    expect((await verifyReceipt(content, new Map(), id)).checks).toMatchObject([
      { what: 'receipt id', good: true },
      good,
    ])
    expect(await checkOf({ receipt })).toEqual([good])
    const notPayTo = 'the signers of receipt and offer are not payTo of the offer'
    const elsewhere = await sellerSigned('Offer', { ...offered, payTo: payer.address })
    const changed = { ...receipt, payload: { ...receipt.payload, payer: seller.address } }
    for (const wrong of [
      { receipt, offer: elsewhere },
      { receipt: changed, offer },
    ]) {
      expect(await checkOf(wrong)).toMatchObject([{ good: false, detail: notPayTo }])
    }
  })

  test('the key of a JWS is at the site of the seller, so it is not verified', async () => {
    const detail = 'not verified: its key is at the site of the seller'
    expect(await checkOf(soldBySite())).toEqual([{ what, good: true, label: 'open', detail }])
  })

  test('a signature that no wallet can make is bad, and so is malformed content', async () => {
    const receipt = { ...(await sellerSigned('Receipt', received())), signature: '0x12' }
    expect(await checkOf({ receipt })).toMatchObject([{ good: false }])
    expect(await checkOf({})).toMatchObject([{ good: false }])
  })
})

describe('a receipt of a seller is refused', () => {
  const refused = async (
    offer_receipt: object,
    status: number,
    code: string,
    problem: string,
    submitter = seller,
  ) => {
    const answer = await send({ offer_receipt }, submitter)
    expectRefusal(answer, status, code)
    expect(JSON.stringify(answer.body)).toContain(problem)
  }

  test('if its signer is not the paid wallet', async () => {
    const receipt = await sellerSigned('Receipt', received())
    await refused({ receipt }, 422, 'refused', 'is not the paid wallet', payer)
  })

  test('if another wallet submits it', async () => {
    await refused(soldBySite(), 403, 'forbidden', 'wallet must be payTo', payer)
  })

  test('if a key of its site signed it without the offer, which names the paid wallet', async () => {
    const { receipt } = soldBySite()
    await refused({ receipt }, 422, 'refused', 'sent with its offer', payer)
    expect(receiver.requests).toEqual([])
  })

  test.each([
    ['another key than the listed one signed it', {}, otherKey, 'not signed by'],
    [
      'its kid is of another host',
      { resourceUrl: 'https://bank.example.com/' },
      key,
      'is no key of did:web:bank.example.com',
    ],
    ['its address has a port', { resourceUrl: `https://${host}:8443/` }, key, '%3A8443'],
    ['its address has no host', { resourceUrl: 'data:x' }, key, 'must be an https address'],
    ['its address is not https', { resourceUrl: `http://${host}/` }, key, 'an https address'],
    ['its address is none', { resourceUrl: 'widget' }, key, 'must be an https address'],
  ])('if %s', async (_, changes, signer, problem) => {
    const answer = await send({ offer_receipt: soldBySite(changes, signer) })
    expect([401, 422]).toContain(answer.status)
    expect(JSON.stringify(answer.body)).toContain(problem)
  })

  test('if the site lists no such key, or has no document', async () => {
    const sold = soldBySite()
    replyWithKeys([methodOf(key, `${kid}2`)])
    await refused(sold, 422, 'refused', 'has no publicKeyJwk for')
    receiver.reply((_request, res) => void res.writeHead(404).end())
    await refused(sold, 422, 'refused', 'status 404')
    outbound = () => Promise.reject(new OutboundError('timeout', 'No complete response'))
    await refused(sold, 503, 'unavailable', 'did.json was not read')
    outbound = () => Promise.reject(new OutboundError('refused_address', 'not public'))
    await refused(sold, 422, 'refused', 'not public')
  })

  test.each([
    ['is of another DID', { id: 'did:web:bank.example.com' }, 'is no DID document of did:web:shop'],
    ['lists its key for logins only', { assertionMethod: [], authentication: [kid] }, 'assertion'],
    ['lists no key for assertions', { assertionMethod: undefined }, 'is no DID document'],
  ])('if the document of the site %s', async (_, changes, problem) => {
    replyWithKeys([methodOf(key)], changes)
    await refused(soldBySite(), 422, 'refused', problem)
  })

  test('if its wallet signature is wrong: no request is sent', async () => {
    const body = await submission(
      seller,
      { rail: 'x402', offer_receipt: soldBySite() },
      service.clock.now(),
    )
    const signature = await payer.sign('something else')
    const answer = await service.postJson('/api/v1/receipts', { ...body, signature })
    expectRefusal(answer, 401, 'signature_invalid')
    expect(receiver.requests).toEqual([])
  })

  test.each([
    [
      'the offer is for another resource',
      { resourceUrl: `https://${host}/else` },
      'different resources',
    ],
    ['the offer is for another token', { asset: `0x${'11'.repeat(20)}` }, 'exact amount of USDC'],
    ['the offer names only a limit', { scheme: 'upto' }, 'exact amount of USDC'],
    ['the offer is too large', { amount: '1000000000000001' }, 'exact amount of USDC up to'],
    ['the offer pays no wallet', { payTo: '0x12' }, 'an EVM address consists of'],
  ])('if %s', async (_, change, problem) => {
    const offer = bySite({ ...offered, ...change })
    const answer = await send({ offer_receipt: { receipt: bySite(received()), offer } })
    expect([400, 422]).toContain(answer.status)
    expect(JSON.stringify(answer.body)).toContain(problem)
  })

  test('if offer and receipt have different signers', async () => {
    const offer = await sellerSigned('Offer', offered)
    await refused({ receipt: bySite(received()), offer }, 422, 'refused', 'different signers')
  })

  test.each([
    ['it names no transaction', { transaction: '' }, 'names no transaction'],
    ['the ledger does not know its network', { network: 'eip155:84532' }, 'not on eip155:84532'],
    ['its transaction is malformed', { transaction: '0x12' }, '64 lower-case hex digits'],
    ['it is of another version', { version: 2 }, 'reads version 1'],
    ['it is of the future', { issuedAt: 4_102_444_800 }, 'in the future'],
  ])('if %s', async (_, change, problem) => {
    const answer = await send({ offer_receipt: soldBySite(change) })
    expect([400, 422]).toContain(answer.status)
    expect(JSON.stringify(answer.body)).toContain(problem)
  })
})

describe('a proof of payment', () => {
  const proof = () => ({
    occurred_at: new Date(service.clock.now()).toISOString(),
    proof_of_payment: {
      fromAddress: payer.address,
      toAddress: seller.address,
      chainId: '8453',
      txHash: `0x${'cd'.repeat(32)}`,
    },
  })

  test('it is a receipt without an amount until the chain says it', async () => {
    const detail = await detailOf(await send(proof()))
    expect(detail).toMatchObject({
      kind: 'erc8004',
      chain: 'base',
      from_wallet: payer.address,
      to_wallet: seller.address,
      unknown_figures: ['amount_usdc'],
      verification: 'pending',
      rep_delta: 0,
      content: { rail: 'x402' },
    })
  })

  test('only the paid wallet may submit it, and it states no amount', async () => {
    expectRefusal(await send(proof(), payer), 403, 'forbidden')
    expectRefusal(await send({ ...proof(), amount_usdc: 5 }), 400, 'invalid_input')
  })
})
