import { createHash } from 'node:crypto'

import { hashes, verify as nobleVerify } from '@noble/ed25519'
import { getAddress, verifyMessage } from 'viem'

import { decodeEd25519Signature, verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { verifyPersonalSign } from '../../../src/auth/eip191.ts'
import { messages, sha256Hex, signingText } from '../../../src/auth/messages.ts'
import { isoTime } from '../../../src/core/time.ts'
import { testService } from '../../../test/support/wallets.ts'
import type { TestWallet } from '../../../test/support/wallets.ts'
import { factsOf, fastWallets, platformKey } from '../signed-receipts.ts'
import { rateOf } from '../task.ts'

/** The texts that the wallet and the platform of a receipt sign. */
interface Signed {
  readonly address: string
  readonly message: string
  readonly signature: string
  readonly receiptText: string
  readonly platformSignature: string
}
type Check = (signed: Signed) => Promise<boolean>

hashes.sha512 = (bytes) => createHash('sha512').update(bytes).digest()
const eip191: Check = async ({ message, signature, address }) =>
  (await verifyPersonalSign(message, signature, address)).valid
const ed25519: Check = async ({ receiptText, platformSignature }) => {
  const signature = decodeEd25519Signature(platformSignature)
  return signature !== null && verifyEd25519(receiptText, signature, platformKey.publicKey).valid
}
const viem: Check = async ({ message, signature, address }) =>
  await verifyMessage({
    message,
    signature: `0x${signature.slice(2)}`,
    address: getAddress(address),
  })
const noble: Check = async ({ receiptText, platformSignature }) => {
  const signature = Buffer.from(platformSignature, 'base64')
  const message = Buffer.from(receiptText)
  return nobleVerify(signature, message, platformKey.publicKey, { zip215: false })
}
/** `receipt`: both checks of the service. */
const receipt: Check = async (signed) => (await eip191(signed)) && (await ed25519(signed))
const checks = { eip191, ed25519, viem, noble, receipt } as const

/** Checks good signatures of receipts, one after the other. */
export async function run(name: keyof typeof checks, warm: number, count: number) {
  const workers = await fastWallets('worker', 500)
  const receipts = await Promise.all(
    Array.from({ length: warm + count }, async (_, at) => await sign(workers[at % 500], at)),
  )
  const check = async (signed: Signed) => {
    if (!(await checks[name](signed))) throw new Error('a good signature is refused')
  }
  await rateOf(receipts.slice(0, warm), check)
  return await rateOf(receipts.slice(warm), check)
}

async function sign(worker: TestWallet | undefined, at: number): Promise<Signed> {
  if (worker === undefined) throw new Error('no wallet')
  const receiptText = signingText(factsOf(worker, at))
  const body = { wallet: worker.address, timestamp: isoTime(Date.now()) }
  const message = messages.receipt(testService, { ...body, bodySha256: sha256Hex(receiptText) })
  return {
    address: worker.address,
    message,
    signature: await worker.sign(message),
    receiptText,
    platformSignature: platformKey.sign(receiptText),
  }
}
