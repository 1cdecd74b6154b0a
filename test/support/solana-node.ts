/** A Solana node for tests: two JSON-RPC methods over a list of transactions. */
import { z } from 'zod'

import { startAnswering, withNul } from './replay-server.ts'
import type { ReplayMode, ReplayServer } from './replay-server.ts'

export interface FakeTransaction {
  readonly signature: string
  readonly slot: number
  readonly atMs: number
  readonly feePayer: string
  /** Other addresses whose lists contain the transaction. */
  readonly mentions?: readonly string[]
  readonly failed?: boolean
  readonly transfers: readonly FakeTransfer[]
}

export interface FakeTransfer {
  readonly from: string
  readonly to: string
  readonly units: string
  readonly mint?: string
  /** `transfer` instead of `transferChecked`, which does not name the mint. */
  readonly plain?: boolean
  /** An instruction of another program. */
  readonly inner?: boolean
}

const usdcMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'

const callShape = z.looseObject({
  method: z.string(),
  params: z.tuple([
    z.string(),
    z.looseObject({
      limit: z.int().optional(),
      before: z.string().optional(),
      until: z.string().optional(),
    }),
  ]),
})

export interface SolanaNode extends ReplayServer {
  /** Newest first. */
  readonly setTransactions: (transactions: readonly FakeTransaction[]) => void
}

export async function startSolanaNode(): Promise<SolanaNode> {
  let chain: readonly FakeTransaction[] = []
  const server = await startAnswering(({ method, body }, mode) => {
    const call = callShape.safeParse(body)
    if (method !== 'POST' || !call.success) return undefined
    const [subject, options] = call.data.params
    const result =
      call.data.method === 'getTransaction'
        ? transactionBody(
            chain.find(({ signature }) => signature === subject),
            mode,
          )
        : listed(mode === 'empty' ? [] : chain, subject, options)
    return { body: { jsonrpc: '2.0', id: 1, result: mode === 'nul' ? withNul(result) : result } }
  })
  return {
    ...server,
    setTransactions: (transactions) => {
      chain = transactions
    },
  }
}

function listed(
  chain: readonly FakeTransaction[],
  address: string,
  { limit = 1000, before, until }: z.output<typeof callShape>['params'][1],
): unknown[] {
  const mine = chain.filter(
    ({ feePayer, mentions = [] }) => feePayer === address || mentions.includes(address),
  )
  const start =
    before === undefined ? 0 : mine.findIndex(({ signature }) => signature === before) + 1
  const known = until === undefined ? -1 : mine.findIndex(({ signature }) => signature === until)
  const end = known === -1 ? mine.length : known
  return mine
    .slice(start, Math.min(end, start + limit))
    .map(({ signature, slot, atMs, failed }) => ({
      signature,
      slot,
      err: failed === true ? { InstructionError: [0, 'Custom'] } : null,
      memo: null,
      blockTime: Math.floor(atMs / 1000),
      confirmationStatus: 'finalized',
    }))
}

function transactionBody(transaction: FakeTransaction | undefined, mode: ReplayMode): unknown {
  if (transaction === undefined) return null
  const { feePayer, transfers, slot, atMs, failed } = transaction
  const accounts = [...new Set(transfers.flatMap(({ from, to }) => [`${from}Ata`, `${to}Ata`]))]
  const owners = new Map(
    transfers.flatMap(({ from, to, mint = usdcMint }) => [
      [`${from}Ata`, { owner: from, mint }],
      [`${to}Ata`, { owner: to, mint }],
    ]),
  )
  const balances = accounts.map((account, at) => ({
    accountIndex: at + 1,
    ...owners.get(account),
    uiTokenAmount: { amount: '1', decimals: 6 },
  }))
  const instructions = transfers.map((transfer) => ({
    inner: transfer.inner === true,
    program: 'spl-token',
    programId: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    parsed: {
      type: transfer.plain === true ? 'transfer' : 'transferChecked',
      info: info(transfer, mode),
    },
  }))
  return {
    slot,
    blockTime: Math.floor(atMs / 1000),
    meta: {
      err: failed === true ? { InstructionError: [0, 'Custom'] } : null,
      // The transaction may open the receiving account, which then has no earlier balance.
      preTokenBalances: balances.slice(0, 1),
      postTokenBalances: balances,
      innerInstructions: [{ index: 0, instructions: instructions.filter(({ inner }) => inner) }],
    },
    transaction: {
      signatures: [transaction.signature],
      message: {
        accountKeys: [feePayer, ...accounts].map((pubkey, at) => ({
          pubkey,
          signer: at === 0,
          writable: true,
        })),
        instructions: [
          { programId: 'ComputeBudget111111111111111111111111111111', data: 'abc', accounts: [] },
          ...instructions.filter(({ inner }) => !inner),
        ],
      },
    },
  }
}

function info(
  { from, to, units, mint = usdcMint, plain }: FakeTransfer,
  mode: ReplayMode,
): unknown {
  const amount = mode === 'negative' ? '-5' : mode === 'absurd' ? '99000000000000' : units
  const ends = { source: `${from}Ata`, destination: `${to}Ata`, authority: from }
  return plain === true
    ? { ...ends, amount }
    : { ...ends, mint, tokenAmount: { amount, decimals: 6, uiAmountString: '0' } }
}
