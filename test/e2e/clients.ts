/** Concurrent clients that post receipts to a service that is killed or runs out of disk space. */
import { expect } from 'vitest'
import { z } from 'zod'

import { boardReceipt } from './board.ts'
import type { Ledger } from './ledger.ts'
import { wholeReceipts } from './whole-receipts.ts'

export interface PostResult {
  readonly raw: string
  /** Null if the connection ended before a complete response. */
  readonly status: number | null
  readonly receiptId: string | null
}

export interface Clients {
  /** All clients post concurrently: `each` receipts per client, or until the connection fails or `isOver`. */
  readonly post: (
    url: string,
    each: number,
    isOver?: () => boolean,
  ) => Promise<readonly PostResult[]>
  readonly send: (url: string, raw: string) => Promise<PostResult>
  /** Repeats every request without a 2xx and expects a 2xx now. */
  readonly retry: (url: string) => Promise<void>
  /** Expects each acknowledged receipt exactly once in the database. Returns their number. */
  readonly expectStored: (ledger: Ledger) => Promise<number>
  readonly acknowledged: () => number
  readonly unanswered: () => number
}

const refusal = z.object({ code: z.string() })
const accepted = z.object({ receipt_id: z.string() })
let count = 0

export function createClients(clients = 8): Clients {
  const acknowledged = new Set<string>()
  let unanswered: readonly string[] = []

  const send = async (url: string, raw: string): Promise<PostResult> => {
    const result = await sendReceipt(url, raw)
    if (result.receiptId !== null) acknowledged.add(result.receiptId)
    return result
  }
  return {
    send,
    post: async (url, each, isOver = () => false) => {
      const results: PostResult[] = []
      const runClient = async () => {
        for (let at = 0; at < each && !isOver(); at += 1) {
          count += 1
          const result = await send(url, await boardReceipt(count))
          results.push(result)
          if (result.status === null) return
        }
      }
      await Promise.all(Array.from({ length: clients }, runClient))
      const failed = results.filter(({ receiptId }) => receiptId === null)
      unanswered = [...unanswered, ...failed.map(({ raw }) => raw)]
      return results
    },
    retry: async (url) => {
      for (const raw of unanswered) expect([200, 201]).toContain((await send(url, raw)).status)
      unanswered = []
    },
    expectStored: async (ledger) => {
      const stored = await wholeReceipts(ledger)
      expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([])
      expect(stored.size).toBeLessThanOrEqual(acknowledged.size + unanswered.length)
      return acknowledged.size
    },
    acknowledged: () => acknowledged.size,
    unanswered: () => unanswered.length,
  }
}

/** Posts one receipt. The only refusal that it accepts is a 503 with `Retry-After`. */
export async function sendReceipt(url: string, raw: string): Promise<PostResult> {
  const headers = { 'Content-Type': 'application/json' }
  try {
    const response = await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body: raw })
    const body: unknown = await response.json()
    const { status } = response
    if (response.ok) return { raw, status, receiptId: accepted.parse(body).receipt_id }
    const { code } = refusal.parse(body)
    expect({ status, code }).toEqual({ status: 503, code: 'unavailable' })
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    return { raw, status, receiptId: null }
  } catch (error) {
    // `fetch` throws a TypeError when a connection ends; any other error fails the test.
    if (error instanceof TypeError) return { raw, status: null, receiptId: null }
    throw error
  }
}
