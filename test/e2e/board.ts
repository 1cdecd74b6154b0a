/** The compiled program with a test platform in its registry, and receipts that the platform issued. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { onTestFinished } from 'vitest'
import { z } from 'zod'

import { installProgram } from '../support/program.ts'
import type { Program } from '../support/program.ts'
import { boardSubmission, copyBoardData, listedPlatform } from '../support/receipts.ts'
import { ed25519Key, nearWallet } from '../support/wallets.ts'
import type { TestKey } from '../support/wallets.ts'
import { servedSet } from './ledger.ts'
import type { Ledger } from './ledger.ts'

const platformKey = ed25519Key('platform')
const worker = nearWallet('worker')

export function installBoardProgram(): Program {
  const program = installProgram()
  const data = join(program.dir, 'data')
  rmSync(data)
  copyBoardData(data, platformKey)
  return program
}

function listKey({ dir }: Program, key: TestKey): void {
  const file = JSON.stringify({ platforms: [listedPlatform(key)] })
  writeFileSync(join(dir, 'data/platforms.json'), file)
}

/** A receipt whose platform has signed it again with a new key, listed until the test ends. */
export async function signedAgain(program: Program, at: number, aheadMs: number): Promise<string> {
  const key = ed25519Key('new platform')
  listKey(program, key)
  onTestFinished(() => listKey(program, platformKey))
  return await boardReceipt(at, aheadMs, worker, key)
}

/** The request body of a receipt, signed `aheadMs` in the future. Each number gives another receipt. */
export async function boardReceipt(
  at: number,
  aheadMs = 0,
  from = worker,
  key = platformKey,
): Promise<string> {
  return await boardSubmission(at, Date.now() + aheadMs, from, key)
}

const railFile = z.looseObject({ notes: z.string().optional() })

/** Changes an authored file, so that the next build publishes a set with this version. */
export function writeVersion({ dir }: Program, version: number): void {
  const path = join(dir, 'data/rails/olas.json')
  const rail = railFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  writeFileSync(path, JSON.stringify({ ...rail, notes: `version ${version}` }))
}

/** Of the newest publication; null before the first. */
export async function publishedVersion(ledger: Ledger): Promise<number | null> {
  const rail = (await servedSet(ledger)).get('/api/v1/rails/olas')
  if (rail === undefined) return null
  const { notes } = railFile.parse(JSON.parse(rail.variants.identity.body.toString()))
  return Number(/version (\d+)/.exec(notes ?? '')?.[1])
}
