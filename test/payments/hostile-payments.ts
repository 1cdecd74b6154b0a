/** Invalid payments of every kind, and unusual valid payments: the name of each, and the payment that a client sends. */
import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  hexToBigInt,
  numberToHex,
  size,
  slice,
} from 'viem'
import type { Address, Hex, PrivateKeyAccount } from 'viem'

import type { UsdcChain } from '../support/usdc-chain.ts'
import { usdcAbi, usdcAddress } from '../support/usdc-chain.ts'
import {
  cancellationCall,
  chainAccount,
  payloadOf,
  paymentV1,
  paymentV2,
  requirementsV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { Authorization, SignedAuthorization } from '../support/x402-payment.ts'

export interface Purchase {
  readonly payer: PrivateKeyAccount
  readonly receiver: Address
  readonly amountMicroUsdc: bigint
  readonly chain: UsdcChain
}

export interface HostilePayment {
  readonly name: string
  /** Of the protocol, which decides the terms that it is compared with. */
  readonly version: 1 | 2
  readonly pay: (purchase: Purchase) => Promise<unknown>
}

type Json = Readonly<Record<string, unknown>>

const nowSeconds = () => BigInt(Math.floor(Date.now() / 1000))

async function signed(
  { payer, receiver, amountMicroUsdc }: Purchase,
  changes: Partial<Authorization> = {},
  domain: Parameters<typeof signAuthorization>[2] = {},
): Promise<SignedAuthorization> {
  const terms = { to: receiver, value: amountMicroUsdc, ...changes }
  return await signAuthorization(payer, terms, domain)
}

/** A payment of version 2 for our terms, whatever was signed. */
const forTerms = (purchase: Purchase, payment: SignedAuthorization) =>
  paymentV2(payment, requirementsV2(purchase.receiver, purchase.amountMicroUsdc))

/** Signed with one field that differs from the offer. */
function signedWith(
  name: string,
  changes: (purchase: Purchase) => Partial<Authorization>,
): HostilePayment {
  const pay = async (purchase: Purchase) =>
    forTerms(purchase, await signed(purchase, changes(purchase)))
  return { name, version: 2, pay }
}

function signedUnder(
  name: string,
  domain: Parameters<typeof signAuthorization>[2],
): HostilePayment {
  const pay = async (purchase: Purchase) => forTerms(purchase, await signed(purchase, {}, domain))
  return { name, version: 2, pay }
}

/** Signed for the offer, sent with another signature. */
function withSignature(
  name: string,
  change: (signature: Hex, purchase: Purchase) => unknown,
): HostilePayment {
  return inPayload(name, (payload, purchase) => ({
    ...payload,
    signature: change(hexOf(payload['signature']), purchase),
  }))
}

/** Signed for the offer, sent with other terms. */
function accepting(name: string, change: Json | ((accepted: Json) => unknown)): HostilePayment {
  return {
    name,
    version: 2,
    pay: async (purchase) => {
      const { receiver, amountMicroUsdc } = purchase
      const terms = { ...requirementsV2(receiver, amountMicroUsdc) }
      const accepted = typeof change === 'function' ? change(terms) : { ...terms, ...change }
      return { ...paymentV2(await signed(purchase)), accepted }
    },
  }
}

/** Signed for the offer, sent with another spelling of one value. */
function spelled(name: string, field: keyof Authorization, spell: (value: string) => unknown) {
  return inPayload(name, (payload) => {
    const authorization = jsonOf(payload['authorization'])
    const value = authorization[field]
    return {
      ...payload,
      authorization: { ...authorization, [field]: spell(typeof value === 'string' ? value : '') },
    }
  })
}

function inPayload(
  name: string,
  change: (payload: Json, purchase: Purchase) => unknown,
): HostilePayment {
  return {
    name,
    version: 2,
    pay: async (purchase) => {
      const payment = await signed(purchase)
      const payload = change({ ...payloadOf(payment) }, purchase)
      return { ...forTerms(purchase, payment), payload }
    },
  }
}

function inV1(name: string, change: (payment: Json) => unknown): HostilePayment {
  return {
    name,
    version: 1,
    pay: async (purchase) => change({ ...paymentV1(await signed(purchase)) }),
  }
}

/** Signed for the offer, after something happened on the chain. */
function after(
  name: string,
  happen: (purchase: Purchase, payment: SignedAuthorization) => Promise<unknown>,
): HostilePayment {
  return {
    name,
    version: 2,
    pay: async (purchase) => {
      const payment = await signed(purchase)
      await happen(purchase, payment)
      return forTerms(purchase, payment)
    },
  }
}

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature by the same key of the same hash, which the token refuses (EIP-2). */
function highS(signature: Hex): Hex {
  const s = numberToHex(curveOrder - hexToBigInt(slice(signature, 32, 64)), { size: 32 })
  return concat([slice(signature, 0, 32), s, slice(signature, 64) === '0x1b' ? '0x1c' : '0x1b'])
}

/** 64 bytes, the recovery bit on top of s (EIP-2098). */
function compact(signature: Hex): Hex {
  const bit = slice(signature, 64) === '0x1c' ? 1n << 255n : 0n
  const s = hexToBigInt(slice(signature, 32, 64)) | bit
  return concat([slice(signature, 0, 32), numberToHex(s, { size: 32 })])
}

const recoveryId = (signature: Hex) =>
  concat([slice(signature, 0, 64), slice(signature, 64) === '0x1c' ? '0x01' : '0x00'])

/** A signature of a wallet that is not deployed yet (ERC-6492): a factory, its call, and the signature inside. */
const undeployed = (signature: Hex) =>
  concat([
    encodeAbiParameters(
      [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
      [chainAccount('factory').address, '0x1234', signature],
    ),
    `0x${'6492'.repeat(16)}`,
  ])

/** Code that answers every call with these four bytes: a wallet that says yes, or no, to every signature (ERC-1271). */
const answering = (bytes4: Hex): Hex =>
  concat(['0x7f', bytes4, `0x${'00'.repeat(28)}`, '0x60005260206000f3'])
const yes: Hex = '0x1626ba7e'
const no: Hex = '0xffffffff'

const contractPayer =
  (answer: Hex) =>
  async ({ chain, payer }: Purchase) =>
    await chain.rpc('anvil_setCode', [payer.address, answering(answer)])

export const hostilePayments: readonly HostilePayment[] = [
  { name: 'version 2 as offered', version: 2, pay: async (p) => forTerms(p, await signed(p)) },
  { name: 'version 1 as offered', version: 1, pay: async (p) => paymentV1(await signed(p)) },

  signedWith('one unit too little', ({ amountMicroUsdc }) => ({ value: amountMicroUsdc - 1n })),
  signedWith('one unit too much', ({ amountMicroUsdc }) => ({ value: amountMicroUsdc + 1n })),
  signedWith('nothing', () => ({ value: 0n })),
  signedWith('more than there is', () => ({ value: 2n ** 256n - 1n })),
  signedWith('to another wallet', () => ({ to: chainAccount('another wallet').address })),
  signedWith('to the token', () => ({ to: usdcAddress })),
  signedWith('to nobody', () => ({ to: '0x0000000000000000000000000000000000000000' })),
  signedWith('from another wallet', () => ({ from: chainAccount('another wallet').address })),
  signedWith('from the receiver', ({ receiver }) => ({ from: receiver })),
  signedWith('not valid yet', () => ({ validAfter: nowSeconds() + 60n })),
  signedWith('valid for ten minutes', () => ({ validAfter: nowSeconds() - 600n })),
  signedWith('not valid any more', () => ({ validBefore: nowSeconds() - 1n })),
  signedWith('valid for two more seconds', () => ({ validBefore: nowSeconds() + 2n })),
  signedWith('valid for nine more seconds', () => ({ validBefore: nowSeconds() + 9n })),
  signedWith('valid for two hours', () => ({ validBefore: nowSeconds() + 7200n })),
  signedWith('valid for ever', () => ({ validBefore: 2n ** 256n - 1n })),

  signedUnder('under the name on Base Sepolia', { name: 'USDC' }),
  signedUnder('under version 1 of the token', { version: '1' }),
  signedUnder('for Ethereum', { chainId: 1 }),
  signedUnder('for another token', { verifyingContract: chainAccount('token').address }),

  withSignature('the other s', highS),
  withSignature('the recovery id 0 or 1', recoveryId),
  withSignature('a compact signature', compact),
  withSignature('one byte too many', (signature) => concat([signature, '0x00'])),
  withSignature('one byte too few', (signature) => slice(signature, 0, 64)),
  withSignature('the recovery byte 29', (signature) => concat([slice(signature, 0, 64), '0x1d'])),
  withSignature('a signature of zeros', (signature) => `0x${'00'.repeat(size(signature))}`),
  withSignature('an empty signature', () => '0x'),
  withSignature('no signature', () => undefined),
  withSignature('a signature that is null', () => null),
  withSignature('a signature that is a number', () => 1),
  withSignature('a signature without 0x', (signature) => signature.slice(2)),
  withSignature(
    'a signature in upper case',
    (signature) => `0x${signature.slice(2).toUpperCase()}`,
  ),
  withSignature('a signature of words', () => 'signed, the payer'),
  withSignature('a wallet that is not deployed yet', undeployed),
  withSignature('a signature of two thousand bytes', () => `0x${'ab'.repeat(2000)}`),

  accepting('accepts less', { amount: '1' }),
  accepting('accepts another receiver', { payTo: chainAccount('another wallet').address }),
  accepting('accepts another token', { asset: chainAccount('token').address }),
  accepting('accepts Base Sepolia', { network: 'eip155:84532' }),
  accepting('accepts the network of version 1', { network: 'base' }),
  accepting('accepts another scheme', { scheme: 'upto' }),
  accepting('accepts another time-out', { maxTimeoutSeconds: 60 }),
  accepting('accepts another name of the token', { extra: { name: 'USDC', version: '2' } }),
  accepting('accepts without extra', ({ extra: _, ...accepted }) => accepted),
  accepting('accepts in lower case', (accepted) => ({
    ...accepted,
    payTo: String(accepted['payTo']).toLowerCase(),
    asset: String(accepted['asset']).toLowerCase(),
  })),
  accepting('accepts an amount that is a number', (accepted) => ({
    ...accepted,
    amount: Number(accepted['amount']),
  })),
  accepting('accepts null', () => null),
  accepting('accepts a list', (accepted) => [accepted]),
  accepting('accepts nothing', () => undefined),

  spelled('a value that is a number', 'value', Number),
  spelled('a value with spaces', 'value', (value) => ` ${value} `),
  spelled('a hexadecimal value', 'value', (value) => `0x${Number(value).toString(16)}`),
  spelled('a value with a leading zero', 'value', (value) => `0${value}`),
  spelled('a value with a sign', 'value', (value) => `+${value}`),
  spelled('a value beyond 256 bits', 'value', () => `1${'0'.repeat(80)}`),
  spelled('a value that is missing', 'value', () => undefined),
  spelled('a time that is a number', 'validBefore', Number),
  spelled('a time that is missing', 'validBefore', () => undefined),
  spelled('a nonce of 31 bytes', 'nonce', (value) => value.slice(0, -2)),
  spelled('a nonce in upper case', 'nonce', (value) => `0x${value.slice(2).toUpperCase()}`),
  spelled('a nonce without 0x', 'nonce', (value) => value.slice(2)),
  spelled('a nonce that is missing', 'nonce', () => undefined),
  spelled('a payer in lower case', 'from', (value) => value.toLowerCase()),
  spelled('a payer in upper case', 'from', (value) => `0x${value.slice(2).toUpperCase()}`),
  spelled('a payer by name', 'from', () => 'payer.eth'),
  spelled('a payer that is missing', 'from', () => undefined),
  spelled('a receiver in lower case', 'to', (value) => value.toLowerCase()),

  inPayload('a payload that is null', () => null),
  inPayload('an empty payload', () => ({})),
  inPayload('a payload without an authorization', ({ authorization: _, ...rest }) => rest),
  inPayload('half a payment by Permit2', ({ signature }) => ({
    signature,
    permit2Authorization: {},
  })),
  inPayload('members that nobody knows', (payload) => ({ ...payload, memo: 'thanks' })),

  inV1('another network in version 1', (payment) => ({ ...payment, network: 'base-sepolia' })),
  inV1('the network of version 2 in version 1', (payment) => ({
    ...payment,
    network: 'eip155:8453',
  })),
  inV1('another scheme in version 1', (payment) => ({ ...payment, scheme: 'upto' })),
  inV1('no network in version 1', ({ network: _, ...payment }) => payment),
  inV1('version 3', (payment) => ({ ...payment, x402Version: 3 })),
  inV1('no version', ({ x402Version: _, ...payment }) => payment),

  after('by a payer without funds', async ({ chain, payer, receiver, amountMicroUsdc }) => {
    const all = await chain.balanceOf(payer.address)
    const terms = { to: receiver, value: all - amountMicroUsdc + 1n }
    await chain.call(settlementCall(await signAuthorization(payer, terms)))
  }),
  after('that a stranger settled for another service', async ({ chain, payer }, payment) => {
    const { nonce } = payment.authorization
    const elsewhere = { to: chainAccount('another wallet').address, value: 1n, nonce }
    await chain.call(settlementCall(await signAuthorization(payer, elsewhere)))
  }),
  after('that the payer took back', async ({ chain, payer }, payment) => {
    await chain.call(await cancellationCall(payer, payment.authorization.nonce))
  }),
  after('by a payer whom Circle blocks', async ({ chain, payer }) => {
    const args = [payer.address] as const
    await chain.call(encodeFunctionData({ abi: usdcAbi, functionName: 'blacklist', args }), 'owner')
  }),
  after('by a contract wallet that says yes', contractPayer(yes)),
  after('by a contract wallet that says no', contractPayer(no)),
  after('by a key with the code of a wallet (EIP-7702)', async ({ chain, payer }) => {
    const wallet = chainAccount('wallet code').address
    await chain.rpc('anvil_setCode', [wallet, answering(yes)])
    await chain.rpc('anvil_setCode', [payer.address, concat(['0xef0100', wallet])])
  }),
]

function hexOf(value: unknown): Hex {
  if (typeof value !== 'string' || !value.startsWith('0x')) throw new Error('no hex')
  return `0x${value.slice(2)}`
}

function jsonOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null) throw new Error('no object')
  return { ...value }
}
