/**
 * `<seed> <warm> <count>`: the checks of signatures that a receipt needs, and nothing else: the wallet's and the
 * platform's, over texts that are there already. Prints the checks of receipts for each second and its CPU time.
 */
import { decodeEd25519Signature, verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { verifyPersonalSign } from '../../../src/auth/eip191.ts'
import { createReceiptMaker } from './receipts.ts'
import type { SignedReceipt } from './receipts.ts'

const [seed = '', ...numbers] = process.argv.slice(2)
const [warm = 0, count = 0] = numbers.map(Number)
const maker = await createReceiptMaker(seed)
const platformKey = Buffer.from(maker.platformKey, 'base64')
const nowMs = Date.now()
const receipts = Array.from({ length: warm + count }, (_, at) => maker.make(at, nowMs))

await check(receipts.slice(0, warm))
const cpu = process.cpuUsage()
const startedMs = performance.now()
await check(receipts.slice(warm))
const elapsedMs = performance.now() - startedMs
const { user, system } = process.cpuUsage(cpu)
const result = { perSecond: (count / elapsedMs) * 1000, cpuUs: (user + system) / count }
process.stdout.write(`${JSON.stringify(result)}\n`)

async function check(all: readonly SignedReceipt[]): Promise<void> {
  for (const { message, signature, address, receiptText, platformSignature } of all) {
    const wallet = await verifyPersonalSign(message, signature, address)
    const bytes = decodeEd25519Signature(platformSignature)
    if (!wallet.valid || bytes === null || !verifyEd25519(receiptText, bytes, platformKey).valid) {
      throw new Error('a signature of our own does not verify')
    }
  }
}
