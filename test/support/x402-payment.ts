/** Payments as x402 clients make them (scheme `exact` of EVM chains, EIP-3009). */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { bytesToHex, encodeFunctionData } from 'viem'
import type { Address, Hex, PrivateKeyAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'

import { neverLogKey } from './no-secrets.ts'
import { usdcAbi, usdcAddress } from './usdc-chain.ts'

/** A payer or settler whose key is derived from a name. */
export function chainAccount(name: string): PrivateKeyAccount {
  return privateKeyToAccount(chainKey(name))
}

export function chainKey(name: string): Hex {
  const key = createHash('sha256').update(`chain account ${name}`).digest()
  neverLogKey(key)
  return bytesToHex(key)
}

/** Settings of a service that settles on a node by the wallet `settler`, whose key is written to `dir`. */
export function localSettlement(dir: string, RPC_URL_BASE: string) {
  const SETTLER_KEY_FILE = join(dir, 'settler.key')
  writeFileSync(SETTLER_KEY_FILE, `${chainKey('settler')}\n`, { mode: 0o600 })
  const PAYMENT_RECEIVER = chainAccount('receiver').address
  return { SETTLEMENT: 'local', SETTLER_KEY_FILE, PAYMENT_RECEIVER, RPC_URL_BASE }
}

/** The signed fields of a transfer. Times are seconds since the epoch. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

export interface SignedAuthorization {
  readonly authorization: Authorization
  readonly signature: Hex
}

const usdcDomain = { name: 'USD Coin', version: '2', chainId: base.id } as const
const authorizationType = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Signs an authorization with a random nonce, valid for two minutes unless changed. */
export async function signAuthorization(
  payer: PrivateKeyAccount,
  terms: { readonly to: Address; readonly value: bigint } & Partial<Authorization>,
  domain: Readonly<Partial<Record<'name' | 'version', string>>> & {
    readonly chainId?: number
    readonly verifyingContract?: Address
  } = {},
): Promise<SignedAuthorization> {
  const authorization: Authorization = {
    from: payer.address,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1000) + 120),
    nonce: bytesToHex(randomBytes(32)),
    ...terms,
  }
  const signature = await payer.signTypedData({
    domain: { ...usdcDomain, verifyingContract: usdcAddress, ...domain },
    types: authorizationType,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization },
  })
  return { authorization, signature }
}

/** The payload of a payment, with numbers as decimal strings. */
export function payloadOf({ authorization, signature }: SignedAuthorization): object {
  const { value, validAfter, validBefore } = authorization
  const numbers = {
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
  }
  return { signature, authorization: { ...authorization, ...numbers } }
}

/** A payment of protocol version 1, for the header `X-PAYMENT`. */
export function paymentV1(signed: SignedAuthorization): object {
  return { x402Version: 1, scheme: 'exact', network: 'base', payload: payloadOf(signed) }
}

/** Terms of version 2 for a payment of USDC. */
export function requirementsV2(payTo: Address, amountMicroUsdc: bigint): object {
  return {
    scheme: 'exact',
    network: `eip155:${base.id}`,
    amount: String(amountMicroUsdc),
    asset: usdcAddress,
    payTo,
    maxTimeoutSeconds: 120,
    extra: { name: usdcDomain.name, version: usdcDomain.version },
  }
}

/** A payment of protocol version 2, for the header `PAYMENT-SIGNATURE`. */
export function paymentV2(
  signed: SignedAuthorization,
  accepted: object = requirementsV2(signed.authorization.to, signed.authorization.value),
): object {
  return { x402Version: 2, accepted, payload: payloadOf(signed) }
}

/** Names the purchase (extension `payment-identifier`), as clients do that repeat the offered extension. */
export function withIdentifier(payment: object, id: string): object {
  return { ...payment, extensions: { 'payment-identifier': { info: { required: false, id } } } }
}

export function headerOf(payment: unknown): string {
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** Call data of the token that settles the authorization; anyone may send it. */
export function settlementCall({ authorization, signature }: SignedAuthorization): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  return encodeFunctionData({
    abi: usdcAbi,
    functionName: 'transferWithAuthorization',
    args: [from, to, value, validAfter, validBefore, nonce, signature],
  })
}

/** Call data of the token that cancels the authorization; anyone may send it. */
export async function cancellationCall(payer: PrivateKeyAccount, nonce: Hex): Promise<Hex> {
  const signature = await payer.signTypedData({
    domain: { ...usdcDomain, verifyingContract: usdcAddress },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  })
  return encodeFunctionData({
    abi: usdcAbi,
    functionName: 'cancelAuthorization',
    args: [payer.address, nonce, signature],
  })
}
