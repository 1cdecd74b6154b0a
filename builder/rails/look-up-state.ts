/** Stored state of look-ups: the followed wallets, and the current look-back. */
import { z } from 'zod'

import { dayMs } from '../../src/core/time.ts'
import type { UsdcTransfer } from '../chain/usdc-transfers.ts'
import { listedHubs } from './look-up-choice.ts'
import type { ChosenWallets } from './look-up-choice.ts'
import { transfersKeptMs } from './looked-up.ts'

/** Requests until the first look-back is complete, and later for the look-backs of a day. */
const firstRequests = 864
const dailyRequests = 144
export const lookBackMs = 30 * dayMs
/** A request names at most 200 wallets: a chunk of new blocks takes two requests for payers and one for payees. */
const maxFollowed = { payers: 400, payees: 200 }
const maxNewWallets = 200
const testKeptMs = 30 * dayMs

/**
 * All transfers of the wallet since block `from` are read, up to `to` if it is no longer followed. `seenMs`: when it was last
 * among the chosen wallets.
 */
const followed = z.record(
  z.string(),
  z.object({ from: z.int(), to: z.int().optional(), seenMs: z.number() }),
)
export const lookUpCursor = z.object({
  /** The followed wallets are read up to this block. */
  block: z.int(),
  payers: followed,
  payees: followed,
  lookBack: z
    .object({
      payers: z.array(z.string()),
      payees: z.array(z.string()),
      first: z.int(),
      payeesFirst: z.int(),
      next: z.int(),
      last: z.int(),
    })
    .nullable(),
  requests: z.object({ day: z.int(), left: z.int() }),
  tests: z.record(
    z.string(),
    z.object({
      seenMs: z.number(),
      /** The head of the test. Absent in tests of older versions. */
      block: z.int().nullable().default(null),
      contract: z.boolean(),
      ageDays: z.number(),
      recipients: z.number(),
      /** Absent in tests of older versions. */
      senders: z.number().nullable().default(null),
    }),
  ),
  lastPayoutAtMs: z.number().nullable(),
})
export type LookUpState = Omit<z.infer<typeof lookUpCursor>, 'lastPayoutAtMs'>
export type LookBack = NonNullable<LookUpState['lookBack']>
export type LookUpSide = 'payers' | 'payees'

/** The stored state without outdated wallets, and with the requests of a new day. */
export function beginLookUps(stored: LookUpState | null, head: number, endMs: number): LookUpState {
  const day = Math.floor(endMs / dayMs)
  if (stored === null) {
    const requests = { day, left: firstRequests }
    return { block: head, payers: {}, payees: {}, lookBack: null, requests, tests: {} }
  }
  const { requests, lookBack } = stored
  const unused = lookBack === null ? 0 : requests.left
  const left = day === requests.day ? requests.left : Math.max(unused, dailyRequests)
  return {
    ...stored,
    payers: followedSince(stored, 'payers', endMs),
    payees: followedSince(stored, 'payees', endMs),
    tests: seenSince(stored.tests, endMs - testKeptMs),
    requests: { day, left },
  }
}

/** A wallet that is no longer followed is known as long as its transfers are kept: it may be chosen again. */
function followedSince({ block: to, ...state }: LookUpState, side: LookUpSide, endMs: number) {
  const known = Object.entries(seenSince(state[side], endMs - 2 * transfersKeptMs))
  const isFollowed = (seenMs: number) => seenMs > endMs - transfersKeptMs
  return Object.fromEntries(
    known.map(([wallet, one]) => [wallet, isFollowed(one.seenMs) ? one : { to, ...one }]),
  )
}

/** Wallets whose new transfers are read. */
export function followedOf({ lookBack, ...state }: LookUpState, side: LookUpSide): string[] {
  const isFollowed = (wallet: string) =>
    state[side][wallet]?.to === undefined || lookBack?.[side].includes(wallet) === true
  return Object.keys(state[side]).filter(isFollowed)
}

/** The wallets of a complete look-back are read from `first` on, or from where they were read before. */
export function finishLookBack(
  state: LookUpState,
  side: LookUpSide,
  wallets: readonly string[],
  first: number,
  seenMs: number,
): void {
  for (const wallet of wallets) {
    const { from = first, to = -1 } = state[side][wallet] ?? {}
    state[side][wallet] = { from: to < first - 1 ? first : Math.min(from, first), seenMs }
  }
}

function seenSince<Wallet extends { readonly seenMs: number }>(
  wallets: Readonly<Record<string, Wallet>>,
  sinceMs: number,
): Record<string, Wallet> {
  return Object.fromEntries(Object.entries(wallets).filter(([, { seenMs }]) => seenMs > sinceMs))
}

/** New wallets are followed from now on, and one look-back reads their earlier transfers. Null if there are none. */
export function nextLookBack(
  state: LookUpState,
  chosen: ChosenWallets,
  firstMsOf: (wallet: string) => number,
  blockAt: (timeMs: number) => number,
  endMs: number,
): LookBack | null {
  const last = state.block
  const follow = (side: LookUpSide): readonly string[] => {
    const before = new Set(followedOf(state, side))
    const places = maxFollowed[side] - before.size
    const added = chosen[side]
      .filter((wallet) => !listedHubs.has(wallet) && !before.has(wallet))
      .slice(0, Math.min(places, maxNewWallets))
    for (const wallet of chosen[side].filter((one) => before.has(one) || added.includes(one)))
      state[side][wallet] = { from: last + 1, ...state[side][wallet], seenMs: endMs }
    return added
  }
  const firstBlock = (wallets: readonly string[], beforeMs: number) =>
    Math.min(last + 1, blockAt(Math.min(...wallets.map(firstMsOf)) - beforeMs))
  const [payers, payees] = [follow('payers'), follow('payees')]
  if (payers.length + payees.length === 0) return null
  const payeesFirst = firstBlock(payees, 0)
  const first = Math.min(payeesFirst, firstBlock(payers, lookBackMs))
  return { payers: [...payers], payees: [...payees], first, payeesFirst, next: first, last }
}

/** A transfer is read again with the look-back of its other wallet. Transfers of 0 are advertisements and traps. */
export function isKnownTransfer(
  state: LookUpState,
  { from, to, block, microUsdc }: UsdcTransfer,
): boolean {
  const covers = (read: { readonly from: number; readonly to?: number | undefined } | undefined) =>
    read !== undefined && block >= read.from && block <= (read.to ?? state.block)
  return microUsdc === 0 || covers(state.payers[to]) || covers(state.payees[from])
}
