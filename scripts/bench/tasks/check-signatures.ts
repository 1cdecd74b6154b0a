/**
 * `<who> <warm> <count>`: checks good signatures of receipts, one after the other. `receipt` is what a receipt needs: the
 * wallet's signature and the platform's.
 */
import { createHash } from 'node:crypto'

import { hashes, verify as nobleVerify } from '@noble/ed25519'
import { getAddress, verifyMessage } from 'viem'

import { decodeEd25519Signature, verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { verifyPersonalSign } from '../../../src/auth/eip191.ts'
import { platformKey, signReceipts } from '../signed-receipts.ts'
import type { BenchReceipt } from '../signed-receipts.ts'
import { numberArgument, rateOf, report, textArgument } from '../task.ts'

type Check = (receipt: BenchReceipt) => Promise<boolean>

hashes.sha512 = (bytes) => createHash('sha512').update(bytes).digest()
const eip191: Check = async ({ message, signature, address }) =>
  (await verifyPersonalSign(message, signature, address)).valid
const ed25519: Check = async ({ receiptText, platformSignature }) => {
  const signature = decodeEd25519Signature(platformSignature)
  return signature !== null && verifyEd25519(receiptText, signature, platformKey.publicKey).valid
}
const checks: Readonly<Record<string, Check>> = {
  eip191,
  ed25519,
  receipt: async (receipt) => (await eip191(receipt)) && (await ed25519(receipt)),
  viem: async ({ message, signature, address }) =>
    await verifyMessage({
      message,
      signature: `0x${signature.slice(2)}`,
      address: getAddress(address),
    }),
  noble: async ({ receiptText, platformSignature }) =>
    nobleVerify(
      Buffer.from(platformSignature, 'base64'),
      Buffer.from(receiptText),
      platformKey.publicKey,
      { zip215: false },
    ),
}
const isGood = checks[textArgument(0)]
const [warm, count] = [numberArgument(1), numberArgument(2)]
const receipts = await signReceipts('checks', warm + count)
const check = async (receipt: BenchReceipt) => {
  if ((await isGood?.(receipt)) !== true) throw new Error('a good signature is refused')
}
await rateOf(receipts.slice(0, warm), check)
report(await rateOf(receipts.slice(warm), check))
