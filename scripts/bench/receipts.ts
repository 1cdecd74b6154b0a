/** Receipts issued by a platform and submitted by Ethereum wallets. The same seed gives the same receipts. */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { railAdapters } from '../../builder/rails/index.ts'
import { demoRulesFile } from '../../builder/world/demo-rules.ts'
import { evmSigner } from '../../src/client/signers.ts'
import { pathOf } from '../../src/contract/routes.ts'
import { demoMarkerPath } from '../../src/runtime/demo.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { requestText } from '../../test/support/keep-alive.ts'
import { issued, listedPlatform, receiptFacts, submission } from '../../test/support/receipts.ts'
import { ed25519Key, nearWallet, signedBody } from '../../test/support/wallets.ts'
import type { TestWallet } from '../../test/support/wallets.ts'

export const receiptsPath = '/api/v1/receipts'
export const platformKey = ed25519Key('bench platform')
const workersCount = 500
const payersCount = 50

export async function signReceipts(seed: string, count: number): Promise<readonly Buffer[]> {
  const workers = await Promise.all(Array.from({ length: workersCount }, (_, at) => fastWallet(at)))
  const nowMs = Date.now()
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const worker = workers[at % workersCount]
      if (worker === undefined) throw new Error('no wallet')
      const facts = receiptFacts(worker, {
        from_wallet: `0x${((at * 7) % payersCount).toString(16).padStart(40, 'f')}`,
        amount_usdc: 1 + (at % 500),
        occurred_at: '2026-01-02T00:00:00.000Z',
        summary: `Labelled a batch of pictures, number ${at} of ${seed}`,
      })
      const body = JSON.stringify(await submission(worker, issued(facts, platformKey), nowMs))
      return Buffer.from(requestText({ path: receiptsPath, body }))
    }),
  )
}

/** Registrations of new workers. */
export async function signRegistrations(seed: string, count: number): Promise<readonly Buffer[]> {
  const nowMs = Date.now()
  return await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const profile = { display_name: `Worker ${at}`, skills: ['agent-news-reporting'] }
      const wallet = nearWallet(`${seed} ${at}`)
      const body = JSON.stringify(await signedBody(wallet, 'register', profile, { nowMs }))
      return Buffer.from(requestText({ path: pathOf('registerWorker'), body }))
    }),
  )
}

/** An Ethereum wallet that signs by WebAssembly; signing with viem would take five times as long. */
async function fastWallet(at: number): Promise<TestWallet> {
  const privateKey = createHash('sha256').update(`bench worker ${at}`).digest()
  const { wallet, signMessage } = await evmSigner(privateKey)
  const address = wallet.toLowerCase()
  return { address, id: address, sign: signMessage }
}

/** Creates the folder of a ledger that lists the platform, and returns its settings. */
export function listPlatform(dataDir: string): Readonly<Record<string, string>> {
  const authored = join(dataDir, 'authored')
  const filter = (path: string) => path !== join(packageRoot, 'data/run')
  mkdirSync(dataDir, { recursive: true })
  cpSync(join(packageRoot, 'data'), authored, { recursive: true, dereference: true, filter })
  writeFileSync(
    join(authored, 'platforms.json'),
    JSON.stringify({ platforms: [listedPlatform(platformKey)] }),
  )
  const rules = railAdapters.map(({ rail, rule }) => ({ rail, rule }))
  writeFileSync(join(authored, demoRulesFile), JSON.stringify(rules))
  // Only a demo reads authored files from its own folder.
  writeFileSync(demoMarkerPath(dataDir), 'Made by `npm run bench`.\n')
  return { DEMO: 'on' }
}
