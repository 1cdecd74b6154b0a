import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'

import { runCommand } from '../support/command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'ledger-reputation-'))
const file = join(folder, 'lines.ndjson')
afterAll(() => rmSync(folder, { recursive: true }))

async function tryLines(...lines: readonly string[]) {
  writeFileSync(file, `${lines.join('\n')}\n`)
  return await runCommand(['reputation', 'try', file])
}

const receipt = (tx: string, worker: string, payer = 'p') =>
  `{"receipt":{"at":"2026-11-02T09:00:00Z","tx":"${tx}","payer":"${payer}","worker":"${worker}","amount_usdc":100,"evidence":"onchain"}}`

test('reputation try prints one line per worker, with its score and entries', async () => {
  const { code, out, err } = await tryLines(
    '{"wallet":{"address":"p","age_days":90}}',
    receipt('0x1', 'w'),
    receipt('0x1', 'w'),
    '{"wallet":{"address":"q","age_days":90}}',
    receipt('0x2', 'v', 'q'),
    '{"transfer":{"at":"2026-11-20T09:00:00Z","from":"v","to":"q","amount_usdc":51}}',
  )
  expect([code, err]).toEqual([0, ''])
  const workers: unknown[] = out
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  expect(workers).toMatchObject([
    {
      worker: 'w',
      score: 22,
      entries: [
        { kind: 'receipt_verified', delta: 1.65, percent: 30, independence: 0.1 },
        { kind: 'receipt_verified', delta: 0, evidence: 0 },
        { kind: 'adjustment', delta: -1.65, independence: 0.1 },
        {
          kind: 'adjustment',
          delta: 22,
          percent: 100,
          independence: 0.4,
          counts_from: '2026-11-02T09:00:00.000Z',
          created_at: '2026-11-17T00:00:00.000Z',
        },
      ],
    },
    { worker: 'v', score: 0, entries: [{}, {}, {}, { kind: 'receipt_reversed', delta: -22 }] },
  ])
})

test('reputation try refuses a bad line with its number', async () => {
  const { code, out, err } = await tryLines(receipt('0x1', 'w'), '{"receipt":{}}')
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('line 2: receipt.at')
})
