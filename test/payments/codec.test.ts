import { describe, expect, it } from 'vitest'

import { MalformedPaymentError, decodePayment } from '../../src/payments/codec.ts'

const authorization = {
  from: '0xAbCdEf0123456789aBcDeF0123456789abcdef01',
  to: '0x1111111111111111111111111111111111111111',
  value: '2000',
  validAfter: '0',
  validBefore: '1795240120',
  nonce: `0x${'AB'.repeat(32)}`,
}
const signature = `0x${'1a'.repeat(64)}1b`
const accepted = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '2000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: authorization.to,
  maxTimeoutSeconds: 120,
  extra: { name: 'USD Coin', version: '2' },
}
const version1 = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base',
  payload: { signature, authorization },
}
const version2 = { x402Version: 2, accepted, payload: { signature, authorization } }

const base64 = (text: string) => Buffer.from(text).toString('base64')
const headerOf = (payment: unknown) => base64(JSON.stringify(payment))
const withValue = (value: unknown) =>
  headerOf({
    ...version2,
    payload: { signature, authorization: { ...authorization, value } },
  })

describe('a payment in a header', () => {
  it('a payment is decoded in both versions, with addresses and nonce in lower case', () => {
    for (const payment of [version1, version2]) {
      const decoded = decodePayment(headerOf(payment))
      expect(decoded).toMatchObject({
        version: payment.x402Version,
        authorization: {
          from: authorization.from.toLowerCase(),
          value: 2000n,
          validBefore: 1795240120n,
          nonce: authorization.nonce.toLowerCase(),
          signature,
        },
      })
    }
  })

  it('a payment identifier consists of 16 to 128 letters, digits, hyphens and underscores', () => {
    const named = (info: unknown) =>
      headerOf({ ...version2, extensions: { 'payment-identifier': { info } } })
    const identifier = 'pay_7d5d747be160-e28'
    expect(decodePayment(named({ required: false, id: identifier }))).toMatchObject({ identifier })
    expect(decodePayment(named({ required: false })).identifier).toBeNull()
    for (const id of ['pay_7d5d747be16', 'a'.repeat(129), 'pay 7d5d747be160e280', 7, null]) {
      const header = named({ required: false, id })
      expect(() => decodePayment(header)).toThrow(MalformedPaymentError)
    }
  })

  it('a payment may contain unknown members', () => {
    const more = { ...version2, resource: { url: 'https://a.test' }, extensions: { a: {} } }
    expect(decodePayment(headerOf(more)).version).toBe(2)
  })

  it('a payment signature that ends with the recovery id gets the byte that the token accepts', () => {
    for (const [sent, meant] of [
      ['00', '1b'],
      ['01', '1c'],
      ['1b', '1b'],
      ['1c', '1c'],
      ['02', '02'],
    ]) {
      const payload = { authorization, signature: `${signature.slice(0, -2)}${sent}` }
      const decoded = decodePayment(headerOf({ ...version1, payload }))
      expect(decoded.authorization.signature.slice(-2)).toBe(meant)
    }
  })

  it.each([
    ['nothing', ''],
    ['text that is not base64', '%%%'],
    ['base64 without its padding', headerOf({ a: 12 }).replace(/=+$/, '')],
    ['base64 of the other alphabet', `${'-_'.repeat(10)}==`],
    ['base64 with a space', ` ${headerOf(version2)}`],
    ['bits after the last byte', `${headerOf(version2).replace(/=*$/, '')}B`],
    ['no JSON', base64('payment')],
    ['a duplicate name', base64('{"x402Version":1,"x402Version":2}')],
    ['a list', headerOf([version2])],
    ['null', headerOf(null)],
    ['no version', headerOf({ ...version1, x402Version: undefined })],
    ['a later version', headerOf({ ...version2, x402Version: 3 })],
    ['a version as text', headerOf({ ...version2, x402Version: '2' })],
    ['no payload', headerOf({ ...version2, payload: null })],
    ['no authorization', headerOf({ ...version2, payload: { signature } })],
    [
      'a signature without bytes',
      headerOf({ ...version1, payload: { signature: '0x', authorization } }),
    ],
    [
      'half a byte of signature',
      headerOf({ ...version1, payload: { signature: '0x1', authorization } }),
    ],
    ['a number that is not text', withValue(2000)],
    ['a number with a space', withValue(' 2000')],
    ['a number in hex', withValue('0x7d0')],
    ['a number with a leading zero', withValue('02000')],
    ['a number with a sign', withValue('-2000')],
    ['a fraction', withValue('2000.0')],
    ['a number beyond 256 bits', withValue(String(2n ** 256n))],
    ['more than ten kibibytes', headerOf({ ...version2, padding: 'a'.repeat(8000) })],
    ['arrays in arrays', base64('['.repeat(500) + ']'.repeat(500))],
  ])('a payment header that contains %s is malformed', (_, header) => {
    expect(() => decodePayment(header)).toThrow(MalformedPaymentError)
  })

  it('the error for a payment that lacks a member names it', () => {
    const { nonce: _, ...rest } = authorization
    let issues: unknown
    try {
      decodePayment(headerOf({ ...version1, payload: { signature, authorization: rest } }))
    } catch (error) {
      issues = error instanceof MalformedPaymentError ? error.issues : error
    }
    expect(issues).toEqual([{ path: 'payload.authorization.nonce', message: 'is missing' }])
  })
})
