/** Clients that post receipts to a service whose ground gives way, and what each of them was told. */
import { expect } from 'vitest'
import { z } from 'zod'

import { boardReceipt } from './board.ts'
import type { Ledger } from './ledger.ts'
import { wholeReceipts } from './whole-receipts.ts'

export interface Told {
  readonly raw: string
  /** Null where the connection ended before a whole answer. */
  readonly status: number | null
  readonly receiptId: string | null
}

export interface Clients {
  /** Posts from all clients at once, each so many receipts or until nobody answers or it is over. */
  readonly post: (url: string, each: number, isOver?: () => boolean) => Promise<readonly Told[]>
  readonly send: (url: string, raw: string) => Promise<Told>
  /** Sends again what got no 2xx: each is taken now, and is there once. */
  readonly retry: (url: string) => Promise<void>
  /** All that was acknowledged is in the file, once, with what it earned; answers how many that are. */
  readonly expectKept: (ledger: Ledger) => Promise<number>
  readonly acknowledged: () => number
  /** Count of receipts without a 2xx. */
  readonly open: () => number
}

const refusal = z.object({ code: z.string() })
const taken = z.object({ receipt_id: z.string() })
let made = 0

export function createClients(count = 8): Clients {
  const acknowledged = new Set<string>()
  let open: readonly string[] = []

  const send = async (url: string, raw: string): Promise<Told> => {
    const told = await sendReceipt(url, raw)
    if (told.receiptId !== null) acknowledged.add(told.receiptId)
    return told
  }
  return {
    send,
    post: async (url, each, isOver = () => false) => {
      const told: Told[] = []
      const client = async () => {
        for (let at = 0; at < each && !isOver(); at += 1) {
          made += 1
          const answer = await send(url, await boardReceipt(made))
          told.push(answer)
          if (answer.status === null) return
        }
      }
      await Promise.all(Array.from({ length: count }, client))
      open = [...open, ...told.filter(({ receiptId }) => receiptId === null).map(({ raw }) => raw)]
      return told
    },
    retry: async (url) => {
      for (const raw of open) expect([200, 201]).toContain((await send(url, raw)).status)
      open = []
    },
    expectKept: async (ledger) => {
      const present = await wholeReceipts(ledger)
      expect([...acknowledged].filter((id) => !present.has(id))).toEqual([])
      if (open.length === 0) expect(present.size).toBe(acknowledged.size)
      return acknowledged.size
    },
    acknowledged: () => acknowledged.size,
    open: () => open.length,
  }
}

/** Posts one receipt; a refusal has to be a 503 that says when to come back. */
async function sendReceipt(url: string, raw: string): Promise<Told> {
  const headers = { 'Content-Type': 'application/json' }
  try {
    const answer = await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body: raw })
    const body: unknown = await answer.json()
    const { status } = answer
    if (answer.ok) return { raw, status, receiptId: taken.parse(body).receipt_id }
    expect({ status, code: refusal.parse(body).code }).toEqual({
      status: 503,
      code: 'unavailable',
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    return { raw, status, receiptId: null }
  } catch (error) {
    // What fetch throws where a connection ends; everything else is a failure of the test.
    if (error instanceof TypeError) return { raw, status: null, receiptId: null }
    throw error
  }
}
