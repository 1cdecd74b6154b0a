/** `<who> <warm> <count>`: checks signatures that are all good, one after the other. Prints checks for each second and CPU time. */
import { createHash } from 'node:crypto'

import { hashes, verify as nobleVerify } from '@noble/ed25519'
import { verifyMessage } from 'viem'

import { decodeEd25519Signature, verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { verifyPersonalSign } from '../../../src/auth/eip191.ts'
import { createReceiptMaker } from '../writes/receipts.ts'
import type { SignedReceipt } from '../writes/receipts.ts'

const [who = '', ...numbers] = process.argv.slice(2)
const [warm = 0, count = 0] = numbers.map(Number)
const maker = await createReceiptMaker('verify')
const platformKey = Buffer.from(maker.platformKey, 'base64')
const receipts = Array.from({ length: warm + count }, (_, at) => maker.make(at, Date.now()))
hashes.sha512 = (bytes) => createHash('sha512').update(bytes).digest()

const checks: Readonly<Record<string, (receipt: SignedReceipt) => Promise<boolean>>> = {
  'eip191 service': async ({ message, signature, address }) =>
    (await verifyPersonalSign(message, signature, address)).valid,
  'eip191 viem': async ({ message, signature, address }) =>
    await verifyMessage({ message, signature: hexOf(signature), address: hexOf(address) }),
  'ed25519 service': async ({ receiptText, platformSignature }) => {
    const signature = decodeEd25519Signature(platformSignature)
    return signature !== null && verifyEd25519(receiptText, signature, platformKey).valid
  },
  'ed25519 noble': async ({ receiptText, platformSignature }) =>
    nobleVerify(Buffer.from(platformSignature, 'base64'), Buffer.from(receiptText), platformKey, {
      zip215: false,
    }),
}
const check = checks[who]
if (check === undefined) throw new Error(`nobody is called ${who}`)

await all(receipts.slice(0, warm), check)
const cpu = process.cpuUsage()
const startedMs = performance.now()
await all(receipts.slice(warm), check)
const elapsedMs = performance.now() - startedMs
const { user, system } = process.cpuUsage(cpu)
const result = { perSecond: (count / elapsedMs) * 1000, cpuUs: (user + system) / count }
process.stdout.write(`${JSON.stringify(result)}\n`)

async function all(
  some: readonly SignedReceipt[],
  isGood: (receipt: SignedReceipt) => Promise<boolean>,
): Promise<void> {
  for (const receipt of some) {
    if (!(await isGood(receipt))) throw new Error('a signature of our own does not verify')
  }
}

function hexOf(text: string): `0x${string}` {
  return `0x${text.slice(2)}`
}
