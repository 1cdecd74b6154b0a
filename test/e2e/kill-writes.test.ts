/**
 * The compiled service killed with SIGKILL a hundred times while eight clients post receipts: whatever was answered
 * with 2xx is there, once, with what it earned; what was not answered can be sent again and is there once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Program } from '../support/program.ts'
import { boardReceipt, installBoardProgram, sendReceipt } from './board.ts'
import { addressOf, newLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { wholeReceipts } from './whole-receipts.ts'

const kills = 100
const clients = 8
const timeoutMs = 600_000

let program: Program

beforeAll(() => {
  program = installBoardProgram()
})
afterAll(() => program.remove())

interface Sent {
  readonly raw: string
  /** Null where the service died before it answered. */
  readonly receiptId: string | null
}

let made = 0

/** Posts from all clients at once until the service, killed after so many answers, is gone. */
async function postUntilKilled(ledger: Ledger, killAfter: number): Promise<readonly Sent[]> {
  const service = ledger.service({ BUILDER: 'off' })
  const url = await addressOf(service)
  const sent: Sent[] = []
  let answered = 0
  const client = async () => {
    for (;;) {
      made += 1
      const raw = await boardReceipt(made)
      const answer = await sendReceipt(url, raw)
      sent.push({ raw, receiptId: answer?.receiptId ?? null })
      if (answer === null) return
      expect(answer.status).toBe(201)
      answered += 1
      if (answered === killAfter) service.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await service.ended
  return sent
}

test(
  `after each of ${kills} kills every receipt that was answered is there, and none twice`,
  async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const acknowledged = new Set<string>()
    let unanswered: readonly string[] = []
    let unansweredButWritten = 0
    for (let kill = 0; kill < kills; kill += 1) {
      const sent = await postUntilKilled(ledger, 1 + ((kill * 37) % 80))
      for (const { receiptId } of sent) if (receiptId !== null) acknowledged.add(receiptId)
      unanswered = sent.flatMap(({ raw, receiptId }) => (receiptId === null ? [raw] : []))
      const present = await wholeReceipts(ledger)
      expect([...acknowledged].filter((id) => !present.has(id))).toEqual([])
      unansweredButWritten = present.size - acknowledged.size
    }

    const service = ledger.service({ BUILDER: 'off' })
    const url = await addressOf(service)
    const before = await wholeReceipts(ledger)
    expect(unanswered.length).toBeGreaterThan(0)
    for (const raw of unanswered) {
      const again = await sendReceipt(url, raw)
      if (again === null) throw new Error('the service is gone')
      expect(again.status).toBe(before.has(again.receiptId) ? 200 : 201)
      acknowledged.add(again.receiptId)
    }
    const after = await wholeReceipts(ledger)
    expect([...acknowledged].filter((id) => !after.has(id))).toEqual([])
    service.kill('SIGTERM')
    expect(await service.ended).toBe(0)
    process.stdout.write(
      `${kills} kills: ${after.size} receipts, ${unansweredButWritten} of them written and not answered before the kill\n`,
    )
    ledger.remove()
  },
  timeoutMs,
)
