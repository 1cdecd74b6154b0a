/** USDC on a chain that survives all processes: blocks are never lost. By EIP-3009, independent of the tested code. */
import { createHash } from 'node:crypto'

import type { Authorization } from '../../../src/payments/authorization.ts'
import type { Machine } from '../machine.ts'
import type { Chance } from '../random.ts'

export type Call =
  | ({ readonly kind: 'transfer' } & Authorization)
  | { readonly kind: 'cancel'; readonly from: string; readonly nonce: string }

interface Transaction {
  readonly hash: string
  readonly call: Call
  /** Nonce of the settling wallet, whose transactions are mined in this order; null for other senders. */
  readonly walletNonce: number | null
}

export interface Block {
  readonly number: number
  readonly hash: string
  readonly timeMs: number
  readonly mined: readonly (Transaction & { readonly succeeded: boolean })[]
}

/** The transfer or cancellation that used an authorization. */
export interface End {
  readonly call: Call
  readonly txHash: string
  readonly block: Block
}

export type Refusal = 'used' | 'expired' | 'early' | 'signature' | 'funds'

export const mostLagMs = 30_000
export const finalDepthMs = 60_000
const blockMs = 2000

export const keyOf = ({ from, nonce }: { readonly from: string; readonly nonce: string }): string =>
  `${from} ${nonce}`

export type UsdcChain = ReturnType<typeof createUsdcChain>

export function createUsdcChain(given: {
  readonly machine: Pick<Machine, 'worldMs' | 'outside'>
  readonly chance: Chance
  readonly log: (line: string) => void
  readonly isSigned: (authorization: Authorization) => boolean
  readonly funds: ReadonlyMap<string, bigint>
}) {
  const { machine, chance, log, isSigned, funds } = given
  let headNumber = 1_000_000
  let headMs = Math.floor(machine.worldMs() / 1000) * 1000
  let blocks: Block[] = []
  const uncles: Block[] = []
  let waiting: Transaction[] = []
  let forks = 0
  let isCalm = false

  /** Adds the empty blocks of the time that has passed. The time of the chain never goes back. */
  function passTime(): void {
    const empty = Math.floor((machine.worldMs() - headMs) / blockMs)
    if (empty <= 0) return
    headNumber += empty
    headMs += empty * blockMs
  }

  function head(lagMs = 0): { readonly number: number; readonly timeMs: number } {
    passTime()
    const behind = Math.floor(lagMs / blockMs)
    return { number: headNumber - behind, timeMs: headMs - behind * blockMs }
  }

  function seen(lagMs = 0): readonly Block[] {
    const { number } = head(lagMs)
    return blocks.filter((block) => block.number <= number)
  }

  const ends = (lagMs = 0): readonly End[] => endsIn(seen(lagMs))

  const endOf = (key: string, lagMs?: number): End | null =>
    ends(lagMs).find(({ call }) => keyOf(call) === key) ?? null

  function balanceOf(address: string): bigint {
    let balance = funds.get(address) ?? 0n
    for (const { call } of ends()) {
      if (call.kind !== 'transfer') continue
      if (call.from === address) balance -= call.value
      if (call.to === address) balance += call.value
    }
    return balance
  }

  function refusalAt(authorization: Authorization, timeMs: number, lagMs = 0): Refusal | null {
    const { from, value, validAfter, validBefore } = authorization
    const seconds = timeMs / 1000
    if (seconds <= Number(validAfter)) return 'early'
    if (seconds >= Number(validBefore)) return 'expired'
    if (endOf(keyOf(authorization), lagMs) !== null) return 'used'
    if (!isSigned(authorization)) return 'signature'
    return balanceOf(from) < value ? 'funds' : null
  }

  function walletNonces(lagMs = 0): { readonly mined: number; readonly waiting: number } {
    const mined = seen(lagMs)
      .flatMap((block) => block.mined)
      .filter(({ walletNonce }) => walletNonce !== null).length
    const queue = waiting.filter(({ walletNonce }) => walletNonce !== null)
    let next = mined
    while (queue.some(({ walletNonce }) => walletNonce === next)) next += 1
    return { mined, waiting: next - mined }
  }

  function ready(): readonly Transaction[] {
    const { mined, waiting: queued } = walletNonces()
    return waiting
      .filter(({ walletNonce }) => walletNonce === null || walletNonce < mined + queued)
      .toSorted((a, b) => (a.walletNonce ?? -1) - (b.walletNonce ?? -1))
  }

  function mine(): void {
    const now = ready()
    if (now.length === 0) return
    passTime()
    headNumber += 1
    headMs += blockMs
    const timeMs = headMs
    const hash = digest(`block ${headNumber} ${forks}`)
    const mined: Block['mined'][number][] = []
    for (const transaction of now) {
      const { call } = transaction
      const isFirst = !mined.some((one) => one.succeeded && keyOf(one.call) === keyOf(call))
      const isOver = !isFirst || endOf(keyOf(call)) !== null
      const refusal = isOver ? 'used' : call.kind === 'cancel' ? null : refusalAt(call, timeMs)
      mined.push({ ...transaction, succeeded: refusal === null })
      log(
        `    ${call.kind} ${call.nonce.slice(0, 10)} in a block${refusal === null ? '' : `: ${refusal}`}`,
      )
    }
    blocks.push({ number: headNumber, hash, timeMs, mined })
    waiting = waiting.filter((one) => !now.includes(one))
  }

  function schedule(delays: number): void {
    machine.outside('a block', () => {
      if (!isCalm && delays > 0 && chance.happens(0.3)) schedule(delays - 1)
      else mine()
    })
  }

  return {
    head,
    endOf,
    blockOf: (txHash: string, lagMs?: number): Block | null =>
      seen(lagMs).find(({ mined }) => mined.some(({ hash }) => hash === txHash)) ?? null,
    isWaiting: (txHash: string) => waiting.some(({ hash }) => hash === txHash),
    /** The effect of a transaction in a block that is, or was before a fork, part of the chain. */
    endIn: (txHash: string, blockHash: string): End | null =>
      endsIn([...blocks, ...uncles].filter(({ hash }) => hash === blockHash)).find(
        (end) => end.txHash === txHash,
      ) ?? null,
    ends: () => ends(),
    /** True if the authorization can still pay: it was neither used nor refused, and is valid. */
    isPayable: (key: string, validBefore: number): boolean => {
      const isKnown = ({ call }: Transaction): boolean => keyOf(call) === key
      const isRefused = [...blocks, ...uncles].some(({ mined }) => mined.some(isKnown))
      return !isRefused && head().timeMs / 1000 < validBefore
    },
    /** The reason why it would revert in the next block, or null. */
    refusalOf: (authorization: Authorization, lagMs = 0): Refusal | null =>
      refusalAt(authorization, head(lagMs).timeMs + blockMs, lagMs),
    walletNonces,
    /** Makes a transaction wait for a block, which the seed schedules, or loses it. Returns the reason of a refusal, or null. */
    submit: (transaction: Transaction): string | null => {
      const { hash, walletNonce } = transaction
      const isMined = blocks.some(({ mined }) => mined.some((one) => one.hash === hash))
      if (isMined || waiting.some((one) => one.hash === hash)) return 'already known'
      if (walletNonce !== null) {
        if (walletNonce < walletNonces().mined) return 'nonce too low'
        if (waiting.some((one) => one.walletNonce === walletNonce))
          return 'replacement transaction underpriced'
      }
      if (!isCalm && chance.happens(0.05)) {
        log(`    the transaction ${hash.slice(0, 10)} is lost`)
        return null
      }
      waiting.push(transaction)
      schedule(2)
      return null
    },
    /** Undoes the newest blocks that are not final. Their transactions wait again, or are lost. */
    fork: (): void => {
      const { timeMs } = head()
      const final = blocks.filter((block) => block.timeMs <= timeMs - finalDepthMs)
      const open = blocks.slice(final.length)
      if (open.length === 0) return
      const remaining = chance.below(open.length)
      const undone = open.slice(remaining)
      log(`    ${undone.length} blocks are undone`)
      forks += 1
      uncles.push(...undone)
      blocks = [...final, ...open.slice(0, remaining)]
      const back = undone.flatMap(({ mined }) => mined)
      // All transactions of the settlement wallet wait again: every node knows them.
      waiting.push(...back.filter(({ walletNonce }) => walletNonce !== null || chance.happens(0.6)))
      schedule(2)
    },
    calm: (): void => {
      isCalm = true
      mine()
    },
  }
}

function endsIn(blocks: readonly Block[]): readonly End[] {
  return blocks.flatMap((block) =>
    block.mined.flatMap(({ succeeded, call, hash: txHash }) =>
      succeeded ? [{ call, txHash, block }] : [],
    ),
  )
}

export function digest(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`
}
