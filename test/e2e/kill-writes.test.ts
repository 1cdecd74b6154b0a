/**
 * Kills the compiled service a hundred times while eight clients post: acknowledged receipts are stored once, and repeats of
 * the others are stored once.
 */
import { expect, test } from 'vitest'

import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { boardReceipt, installBoardProgram, sendReceipt } from './board.ts'
import { addressOf, newLedger, stop, useProgram } from './ledger.ts'
import { wholeReceipts } from './whole-receipts.ts'

allowSlowTests('starts the compiled program')

const kills = 100
const clients = 8
const timeoutMs = 900_000

const program = useProgram(installBoardProgram)

interface Sent {
  readonly raw: string
  /** Null where the service died before it answered. */
  readonly receiptId: string | null
}

let made = 0

/** Posts from all clients at once until the service, killed after so many answers, is gone. */
async function postUntilKilled(
  { service, url }: { readonly service: Running; readonly url: string },
  killAfter: number,
): Promise<readonly Sent[]> {
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
  `after each of ${kills} kills every acknowledged receipt is stored exactly once`,
  async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const acknowledged = new Set<string>()
    let unanswered: readonly string[] = []
    let [resent, written] = [0, 0]
    const expectKept = async () => {
      const present = await wholeReceipts(ledger)
      expect([...acknowledged].filter((id) => !present.has(id))).toEqual([])
      return present
    }
    const start = async () => {
      const service = ledger.service({ BUILDER: 'off' })
      return { service, url: await addressOf(service) }
    }
    /** Receipts that it has already are answered as repeats. */
    const sendAgain = async (url: string) => {
      const before = await expectKept()
      // Nothing else than what was sent.
      expect(before.size).toBeLessThanOrEqual(acknowledged.size + unanswered.length)
      for (const raw of unanswered) {
        const again = await sendReceipt(url, raw)
        if (again === null) throw new Error('the service is gone')
        expect(again.status).toBe(before.has(again.receiptId) ? 200 : 201)
        acknowledged.add(again.receiptId)
        resent += 1
        written += again.status === 200 ? 1 : 0
      }
    }
    for (let kill = 0; kill < kills; kill += 1) {
      const running = await start()
      await sendAgain(running.url)
      const sent = await postUntilKilled(running, 1 + ((kill * 37) % 80))
      for (const { receiptId } of sent) if (receiptId !== null) acknowledged.add(receiptId)
      unanswered = sent.flatMap(({ raw, receiptId }) => (receiptId === null ? [raw] : []))
      expect(unanswered.length).toBeGreaterThan(0)
    }

    const { service, url } = await start()
    await sendAgain(url)
    expect((await expectKept()).size).toBe(acknowledged.size)
    await stop(service)
    process.stdout.write(
      `${kills} kills: ${acknowledged.size} receipts, ${resent} of them not answered before a kill and sent again, ${written} of those written before it\n`,
    )
    ledger.remove()
  },
  timeoutMs,
)
