/** Payers: keys with USDC on the chain, and all authorizations that they have signed. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js'
import { privateKeyToAccount } from 'viem/accounts'

import { transferDigest } from '../../../src/payments/transfer.ts'
import type { Authorization } from './usdc.ts'

export interface Payer {
  readonly address: string
  readonly key: Uint8Array
  readonly funds: bigint
}

export type People = Awaited<ReturnType<typeof preparePayers>>

const keyOf = (name: string): Buffer => createHash('sha256').update(`simulated ${name}`).digest()
const accountOf = (name: string) => privateKeyToAccount(`0x${keyOf(name).toString('hex')}`)

/** Two payers have enough USDC, and one has none. */
const accounts = { pia: 1_000_000_000n, quin: 1_000_000_000n, rex: 0n } as const

/** Prepared once, because loading the curve takes longer than a run. */
export async function preparePayers() {
  const curve = await instantiateSecp256k1()
  const payers: readonly Payer[] = Object.entries(accounts).map(([name, funds]) => ({
    address: accountOf(name).address.toLowerCase(),
    key: keyOf(name),
    funds,
  }))
  return {
    payers,
    settler: accountOf('settler'),
    receiver: accountOf('receiver').address,
    sign: (fields: Omit<Authorization, 'signature'>, key: Uint8Array): string => {
      const { from, to, value, validAfter, validBefore, nonce } = fields
      const numbers = { validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) }
      const hash = transferDigest({ from, to, value, nonce, ...numbers })
      const signed = curve.signMessageHashRecoverableCompact(key, hash)
      if (typeof signed === 'string') throw new Error(signed)
      const { signature, recoveryId } = signed
      return `0x${Buffer.from(signature).toString('hex')}${recoveryId === 0 ? '1b' : '1c'}`
    },
  }
}

export interface SignedPayment {
  readonly authorization: Authorization
  /** True if the payer signed it. */
  readonly isGenuine: boolean
  readonly header: Readonly<Record<string, string>>
}

export type PayerWallets = ReturnType<typeof createPayerWallets>

const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

export function createPayerWallets({ sign, receiver }: People) {
  const signedPayments: SignedPayment[] = []
  return {
    signedPayments: signedPayments as readonly SignedPayment[],
    write: (
      fields: Omit<Authorization, 'signature' | 'from'>,
      by: { readonly payer: Payer; readonly signer: Payer; readonly version: 1 | 2 },
    ): SignedPayment => {
      const { payer, signer, version } = by
      const unsigned = { ...fields, from: payer.address }
      const authorization = { ...unsigned, signature: sign(unsigned, signer.key) }
      const payload = payloadOf(authorization)
      const accepted = {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: String(fields.value),
        asset,
        payTo: fields.to === receiver.toLowerCase() ? receiver : fields.to,
        maxTimeoutSeconds: 120,
      }
      const x402 =
        version === 2
          ? { x402Version: 2, accepted, payload }
          : { x402Version: 1, scheme: 'exact', network: 'base', payload }
      const value = Buffer.from(JSON.stringify(x402)).toString('base64')
      const header = { [version === 2 ? 'PAYMENT-SIGNATURE' : 'X-PAYMENT']: value }
      const payment = { authorization, isGenuine: payer === signer, header }
      signedPayments.push(payment)
      return payment
    },
    isSigned: (authorization: Authorization): boolean => {
      const found = signedPayments.find(
        (one) => one.isGenuine && one.authorization.signature === authorization.signature,
      )
      return (
        found !== undefined &&
        isDeepStrictEqual(payloadOf(found.authorization), payloadOf(authorization))
      )
    },
  }
}

function payloadOf(of: Authorization): object {
  const { from, to, nonce, signature } = of
  const [value, validAfter, validBefore] = [of.value, of.validAfter, of.validBefore].map(String)
  return { signature, authorization: { from, to, value, validAfter, validBefore, nonce } }
}
