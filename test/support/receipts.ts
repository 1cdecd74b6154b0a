import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Kysely } from 'kysely'

import { railAdapters } from '../../builder/rails/index.ts'
import { demoRulesFile } from '../../builder/world/demo-rules.ts'
import { grantOf } from '../../src/actions/receipt-acceptance.ts'
import { loadReference } from '../../src/actions/reference.ts'
import type { Reference } from '../../src/actions/reference.ts'
import { isoTime } from '../../src/core/time.ts'
import type { Wallet } from '../../src/core/wallet.ts'
import { toJsonText } from '../../src/db/json.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import type { NewReceipt } from '../../src/db/receipts/receipts.ts'
import { grantReceipt } from '../../src/db/reputation.ts'
import type { Database } from '../../src/db/schema.ts'
import { demoMarkerPath } from '../../src/runtime/demo.ts'
import { nearWallet, receiptSignature, signedBody } from './wallets.ts'
import type { TestKey, TestWallet } from './wallets.ts'

/** Adds a platform that issues receipts for some rails. */
export function withPlatform(
  reference: Reference,
  key: TestKey,
  changes: {
    readonly platform?: string
    readonly rails?: string[]
    readonly revoked_at?: string
  } = {},
): Reference {
  const { platform = 'example_board', rails = ['x402', 'olas'], ...rest } = changes
  const entry = {
    platform,
    name: 'Example Board',
    public_key: key.base64,
    rails,
    added_at: '2026-11-01T00:00:00.000Z',
    ...rest,
  }
  return { ...reference, platforms: new Map([...reference.platforms, [platform, entry]]) }
}

export async function platformActions(key: TestKey) {
  const reference = withPlatform(await loadReference('data'), key)
  return { reference: () => reference }
}

/** The facts of a receipt before it is signed. */
export function receiptFacts(worker: TestWallet, changes: object = {}): object {
  return {
    rail: 'x402',
    to_wallet: worker.address,
    amount_usdc: 10,
    asset_symbol: 'USDC',
    occurred_at: '2026-11-20T12:00:00.000Z',
    ...changes,
  }
}

/** The entry in `platforms.json` of the platform that signs with `key`. */
export const listedPlatform = (key: { readonly base64: string }) => ({
  platform: 'example_board',
  name: 'Example Board',
  public_key: key.base64,
  rails: ['x402'],
  added_at: '2026-01-01T00:00:00.000Z',
})

export function issued(facts: object, key: TestKey, platform = 'example_board') {
  const unsigned = { ...facts, platform, platform_signature: '' }
  return { ...unsigned, platform_signature: receiptSignature(key, unsigned) }
}

export function workerSigned(facts: object, key: TestKey) {
  const unsigned = { ...facts, public_key: `ed25519:${key.base64}`, worker_signature: '' }
  return { ...unsigned, worker_signature: receiptSignature(key, unsigned) }
}

/** The signed submission of a receipt. */
export function submission(submitter: TestWallet, receipt: object, nowMs: number) {
  return signedBody(submitter, 'receipt', receipt, { nowMs })
}

/** Copies the authored files, with a platform that issues receipts. */
export function copyBoardData(to: string, key: TestKey): void {
  cpSync('data', to, { recursive: true, filter: (path) => !path.endsWith('data/run') })
  const listed = JSON.stringify({ platforms: [listedPlatform(key)] })
  writeFileSync(join(to, 'platforms.json'), listed)
}

/** Makes a folder a demo, which reads authored files of its own, with such a platform. Returns the settings of the demo. */
export function listBoard(dataDir: string, key: TestKey): Readonly<Record<string, string>> {
  const authored = join(dataDir, 'authored')
  copyBoardData(authored, key)
  const rules = railAdapters.map(({ rail, rule }) => ({ rail, rule }))
  writeFileSync(join(authored, demoRulesFile), JSON.stringify(rules))
  writeFileSync(demoMarkerPath(dataDir), 'A test platform.\n')
  return { DEMO: 'on' }
}

/** The request body of a receipt that the platform issued. Each number gives another one. */
export async function boardSubmission(
  at: number,
  nowMs: number,
  worker: TestWallet,
  key: TestKey,
): Promise<string> {
  const facts = receiptFacts(worker, {
    from_wallet: nearWallet(`payer ${at % 50}`).address,
    occurred_at: '2026-01-02T00:00:00.000Z',
    summary: `number ${at}`,
  })
  return JSON.stringify(await submission(worker, issued(facts, key), nowMs))
}

export interface ReceiptChanges extends Partial<Omit<NewReceipt, 'content'>> {
  readonly from?: Wallet | null
  readonly to: Wallet
  readonly content?: object
}

/** A row of the ledger: a receipt that a platform issued at a time and that is verified, unless changed. */
export function receiptRow(
  atMs: number,
  { from = null, to, content = {}, ...changes }: ReceiptChanges & Pick<NewReceipt, 'id'>,
): NewReceipt {
  const time = isoTime(atMs)
  return {
    kind: 'platform',
    rail: 'x402',
    chain: null,
    txHash: null,
    fromWallet: from?.id ?? null,
    fromDisplay: from?.display ?? null,
    toWallet: to.id,
    toDisplay: to.display,
    amountMicroUsdc: 10_000_000,
    assetSymbol: 'USDC',
    occurredAt: time,
    summary: null,
    jobId: null,
    evidenceUrl: null,
    platform: 'example_board',
    publicKey: null,
    authority: null,
    submitter: 'x',
    content: toJsonText(content),
    verification: 'verified',
    verificationReason: null,
    onchain: 'none',
    acceptedAt: time,
    ...changes,
  }
}

/** A row that only its worker signed; it waits for the check of its chain. */
export function pendingReceiptRow(
  atMs: number,
  changes: ReceiptChanges & Pick<NewReceipt, 'id' | 'chain' | 'txHash'>,
): NewReceipt {
  return receiptRow(atMs, {
    kind: 'signed',
    platform: null,
    submitter: changes.to.id,
    verification: 'pending',
    onchain: 'pending',
    ...changes,
  })
}

/** Stores a receipt and its reputation without any check. */
export async function storeReceipt(tx: Kysely<Database>, draft: NewReceipt): Promise<void> {
  await insertReceipt(tx, draft)
  const grant = grantOf(draft)
  if (grant !== null) await grantReceipt(tx, grant)
}
