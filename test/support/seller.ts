/** A seller of the x402 extension `offer-receipt`, whose wallet is paid. */
import { privateKeyToAccount } from 'viem/accounts'

import { offerKind, receiptKind } from '../../src/auth/offer-receipt.ts'
import type { TestWallet } from './wallets.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

export const seller: TestWallet = {
  address: account.address,
  id: account.address.toLowerCase(),
  sign: (message) => account.signMessage({ message }),
}

const kinds = { Offer: offerKind, Receipt: receiptKind }

export function typedDataOf(primaryType: keyof typeof kinds, message: object) {
  const { name, type } = kinds[primaryType]
  const members = [...type.matchAll(/(uint256|string) (\w+)/g)]
  const types = {
    [primaryType]: members.map(([, of = '', member = '']) => ({ type: of, name: member })),
  }
  return { domain: { name, version: '1', chainId: 1 }, types, primaryType, message: { ...message } }
}

/** What the seller signs as EIP-712 with the key of its wallet. */
export async function sellerSigned<Payload extends object>(
  kind: keyof typeof kinds,
  payload: Payload,
): Promise<{ format: 'eip712'; payload: Payload; signature: string }> {
  const absent = { validUntil: 0, transaction: '' }
  const signature = await account.signTypedData(typedDataOf(kind, { ...absent, ...payload }))
  return { format: 'eip712', payload, signature }
}
