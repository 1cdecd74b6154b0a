/** Receipts issued by a platform and submitted by Ethereum wallets: the same ones for the same seed and time. */
import { createHash } from 'node:crypto'

import { evmSigner } from '../../src/client/signers.ts'
import { issued, receiptFacts, submission } from '../../test/support/receipts.ts'
import { ed25519Key, signedBody } from '../../test/support/wallets.ts'
import type { TestWallet } from '../../test/support/wallets.ts'

export const platformSlug = 'bench_board'
export const platformKey = ed25519Key('bench platform')
const workersCount = 500
const payersCount = 50

/** Signs the receipts with the numbers from 0 to `count` - 1 and returns them as request bodies. */
export async function signReceipts(seed: string, count: number): Promise<readonly string[]> {
  const workers = await fastWallets('worker', workersCount)
  const nowMs = Date.now()
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const worker = workers[at % workersCount]
      if (worker === undefined) throw new Error('no wallet')
      const receipt = issued(factsOf(worker, at, seed), platformKey, platformSlug)
      return JSON.stringify(await submission(worker, receipt, nowMs))
    }),
  )
}

/** Bodies of the registration of new workers. */
export async function signRegistrations(seed: string, count: number): Promise<readonly string[]> {
  const workers = await fastWallets(`registered ${seed}`, count)
  const nowMs = Date.now()
  return await Promise.all(
    workers.map(async (worker) =>
      JSON.stringify(
        await signedBody(worker, 'register', { skills: ['api-reference-writing'] }, { nowMs }),
      ),
    ),
  )
}

/** The facts of a receipt, which the platform signs. */
export function factsOf(worker: TestWallet, at: number, seed = ''): object {
  const payer = (at * 7) % payersCount
  return receiptFacts(worker, {
    from_wallet: `0x${payer.toString(16).padStart(40, 'f')}`,
    amount_usdc: 1 + (at % 500),
    occurred_at: '2026-01-02T00:00:00.000Z',
    summary: `Labelled a batch of pictures, number ${at} of ${seed}`,
  })
}

/** Ethereum wallets that sign by WebAssembly; signing with viem would take five times as long. */
export async function fastWallets(name: string, count: number): Promise<readonly TestWallet[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const privateKey = createHash('sha256').update(`bench ${name} ${at}`).digest()
      const { wallet, signMessage } = await evmSigner(privateKey)
      const address = wallet.toLowerCase()
      return { address, id: address, sign: signMessage }
    }),
  )
}
