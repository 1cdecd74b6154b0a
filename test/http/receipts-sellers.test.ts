import { beforeEach, describe, expect, test } from 'vitest'

import { signArtifact } from '../../src/auth/offer-receipt.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { chains } from '../../src/chain/chains.ts'
import { receiptDetail } from '../../src/contract/schemas/receipt.ts'
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

function replyWithKeys(verificationMethod: readonly object[]): void {
  receiver.reply((_request, res) => {
    res.writeHead(200).end(JSON.stringify({ id: `did:web:${host}`, verificationMethod }))
  })
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
    const receipt = await sellerSigned('Receipt', { ...received(), transaction: '' })
    const offer = { ...(await sellerSigned('Offer', offered)), acceptIndex: 0 }
    const detail = await detailOf(await send({ offer_receipt: { receipt, offer } }))
    expect(detail).toMatchObject({
      amount_usdc: 0.25,
      verification: 'unverified',
      verification_reason: 'Signed by the seller alone, without evidence of the payment',
      rep_delta: 0,
    })
    expect(detail.unknown_figures).toBeUndefined()
    expect(detail.tx_hash).toBeUndefined()
  })

  test('with a key that its site lists: the site is read, and the key named', async () => {
    const answer = await send({ offer_receipt: { receipt: bySite(received()) } })
    expect(answer.status).toBe(201)
    expect((await detailOf(answer)).authority).toBe(kid)
    expect(receiver.requests).toMatchObject([
      { method: 'GET', path: '/.well-known/did.json', host },
    ])
  })

  test('a key with a relative id is found; resubmission creates no duplicate', async () => {
    replyWithKeys([{ id: '#other' }, methodOf(key, '#key-1')])
    const receipt = { offer_receipt: { receipt: bySite(received()) } }
    expect((await send(receipt)).status).toBe(201)
    expect((await send(receipt)).status).toBe(200)
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
    const [receipt, offer] = [bySite(received()), bySite(offered)]
    await refused({ receipt, offer }, 403, 'forbidden', 'wallet must be payTo', payer)
  })

  test.each([
    [
      'another key than the listed one signed it',
      () => bySite(received(), otherKey),
      'not signed by',
    ],
    [
      'its kid is of another host',
      () => bySite({ ...received(), resourceUrl: 'https://bank.example.com/' }),
      'is no key of did:web:bank.example.com',
    ],
    [
      'its address has a port',
      () => bySite({ ...received(), resourceUrl: `https://${host}:8443/` }),
      'is no key of',
    ],
  ])('if %s', async (_, receipt, problem) => {
    const answer = await send({ offer_receipt: { receipt: receipt() } })
    expect(answer.status).toBeGreaterThanOrEqual(401)
    expect(JSON.stringify(answer.body)).toContain(problem)
  })

  test('if the site lists no such key, or has no document', async () => {
    const receipt = bySite(received())
    replyWithKeys([methodOf(key, `${kid}2`)])
    await refused({ receipt }, 422, 'refused', 'has no publicKeyJwk for')
    receiver.reply((_request, res) => void res.writeHead(404).end())
    await refused({ receipt }, 422, 'refused', 'status 404')
    outbound = () => Promise.reject(new OutboundError('timeout', 'No complete response'))
    await refused({ receipt }, 503, 'unavailable', 'did.json was not read')
    outbound = () => Promise.reject(new OutboundError('refused_address', 'not public'))
    await refused({ receipt }, 422, 'refused', 'not public')
  })

  test('if its wallet signature is wrong: no request is sent', async () => {
    const body = await submission(
      seller,
      { rail: 'x402', offer_receipt: { receipt: bySite(received()) } },
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
    ['it names no transaction and has no offer', { transaction: '' }, 'sent with its offer'],
    ['the ledger does not know its network', { network: 'eip155:84532' }, 'not on eip155:84532'],
    ['its transaction is malformed', { transaction: '0x12' }, '64 lower-case hex digits'],
    ['it is of another version', { version: 2 }, 'reads version 1'],
    ['it is of the future', { issuedAt: 4_102_444_800 }, 'in the future'],
  ])('if %s', async (_, change, problem) => {
    const answer = await send({ offer_receipt: { receipt: bySite({ ...received(), ...change }) } })
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
