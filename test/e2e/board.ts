/** The compiled program with one platform in its registry, and receipts that the platform has issued. */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { installProgram } from '../support/program.ts'
import type { Program } from '../support/program.ts'
import { issued, receiptFacts, submission } from '../support/receipts.ts'
import { ed25519Key, nearWallet } from '../support/wallets.ts'

const platformKey = ed25519Key('platform')
const worker = nearWallet('worker')
const payers = 50

export function installBoardProgram(): Program {
  const program = installProgram()
  const data = join(program.dir, 'data')
  rmSync(data)
  cpSync('data', data, { recursive: true, filter: (path) => !path.endsWith('data/run') })
  const platform = {
    platform: 'example_board',
    name: 'Example Board',
    public_key: platformKey.base64,
    rails: ['x402'],
    added_at: '2026-01-01T00:00:00.000Z',
  }
  writeFileSync(join(data, 'platforms.json'), JSON.stringify({ platforms: [platform] }))
  return program
}

/** The body of a receipt as it is sent in, dated so far ahead: another one for each number. */
export async function boardReceipt(at: number, aheadMs = 0, from = worker): Promise<string> {
  const facts = receiptFacts(from, {
    from_wallet: nearWallet(`payer ${at % payers}`).address,
    occurred_at: '2026-01-02T00:00:00.000Z',
    summary: `number ${at}`,
  })
  return JSON.stringify(await submission(from, issued(facts, platformKey), Date.now() + aheadMs))
}

/**
 * Sends a receipt and answers its id and status, or null where no whole answer came.
 * @throws Error where it was refused.
 */
export async function sendReceipt(
  url: string,
  raw: string,
): Promise<{ readonly status: number; readonly receiptId: string } | null> {
  try {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body: raw })
    const text = await answer.text()
    const receiptId = /"receipt_id":"(rcp_[0-9a-f]{64})"/.exec(text)?.[1]
    if (receiptId === undefined) throw new Error(`refused with ${answer.status}: ${text}`)
    return { status: answer.status, receiptId }
  } catch (error) {
    // What fetch throws where a connection ends; everything else is a failure of the test.
    if (error instanceof TypeError) return null
    throw error
  }
}
