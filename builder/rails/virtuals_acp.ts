/** Virtuals ACP on Base: claimed provider fees (v1) and executed payable memos (v2). */
import {
  decodeAbiParameters,
  decodeFunctionResult,
  encodeFunctionData,
  isAddressEqual,
  parseAbi,
  parseAbiParameters,
  slice,
  zeroAddress,
} from 'viem'
import type { Address } from 'viem'

import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import { concurrentCalls, selectors } from '../chain/logs.ts'
import type { DecodedLog, LogChunk } from '../chain/logs.ts'
import { defineRail } from './adapter.ts'
import { aggregateLogs, monthOf, reduceStream } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'
import type { Payout } from './payouts.ts'

const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const acpV1: Address = '0x6a1FE26D54ab0d3E1e3168f2e0c0cDa5cC0A0A4A'
const routerV2: Address = '0xa6C9BA866992cfD7fd6460ba912bfa405adA9df0'

export const acpV1Events = parseAbi([
  'event ClaimedProviderFee(uint256 jobId, address indexed provider, uint256 providerFee)',
  'event JobCreated(uint256 jobId, address indexed client, address indexed provider, address indexed evaluator)',
])
export const jobManagerEvents = parseAbi([
  'event JobCreated(uint256 indexed jobId, uint256 indexed accountId, address indexed client, address provider, address evaluator, uint256 expiredAt)',
])
export const memoManagerEvents = parseAbi([
  'event PayableMemoExecuted(uint256 indexed memoId, uint256 indexed jobId, address indexed executor, uint256 amount)',
])
const acpEvents = [...acpV1Events, ...jobManagerEvents, ...memoManagerEvents] as const
type AcpLog = DecodedLog<typeof acpEvents>
type Stream = 'payments' | 'jobs'

/** The record of a v1 job names its token; the zero address stands for the token of the contract. */
const acpV1Views = parseAbi([
  'function paymentToken() view returns (address)',
  'function jobs(uint256 jobId) view returns (uint256 id, address client, address provider, uint256 budget, uint256 amountClaimed, uint8 phase, uint256 memoCount, uint256 expiredAt, address evaluator, address jobPaymentToken)',
])
const modules = parseAbi([
  'function jobManager() view returns (address)',
  'function memoManager() view returns (address)',
])
const memoDetails = parseAbi([
  'function payableDetails(uint256 memoId) view returns (address token, uint256 amount, address recipient)',
])
const jobs = parseAbi(['function getJob(uint256 jobId) view'])
const jobHead = parseAbiParameters(
  'uint256 id, uint256 accountId, address client, address provider',
)

interface AcpContracts {
  readonly jobManager: Address
  readonly memoManager: Address
  /** Token of v1 jobs that name none. */
  readonly defaultToken: Address
}

/** What the contracts know about one payment. */
interface PaidJob {
  readonly client: Address
  readonly provider: Address
  readonly token: Address
  readonly recipient: Address
}

/** Address of a v2 module, which its operators may replace. */
async function readModule(
  reader: ChainReader,
  functionName: 'jobManager' | 'memoManager',
): Promise<Address> {
  const data = encodeFunctionData({ abi: modules, functionName })
  const module = await reader.view({ to: routerV2, data }, (returned) =>
    decodeFunctionResult({ abi: modules, functionName, data: returned }),
  )
  if (isAddressEqual(module, zeroAddress)) throw new ChainError(`ACP v2 names no ${functionName}`)
  return module
}

async function readDefaultToken(reader: ChainReader): Promise<Address> {
  const functionName = 'paymentToken'
  const data = encodeFunctionData({ abi: acpV1Views, functionName })
  return await reader.view({ to: acpV1, data }, (returned) =>
    decodeFunctionResult({ abi: acpV1Views, functionName, data: returned }),
  )
}

/** Events do not show the token of a fee, and the one of an old job may be outside the blocks that were read. */
async function readJobV1(
  reader: ChainReader,
  { defaultToken }: AcpContracts,
  jobId: bigint,
): Promise<PaidJob> {
  const functionName = 'jobs'
  const data = encodeFunctionData({ abi: acpV1Views, functionName, args: [jobId] })
  const [, client, provider, , , , , , , token] = await reader.view(
    { to: acpV1, data },
    (returned) => decodeFunctionResult({ abi: acpV1Views, functionName, data: returned }),
  )
  const isDefault = isAddressEqual(token, zeroAddress)
  return { client, provider, recipient: provider, token: isDefault ? defaultToken : token }
}

/** Only the head of the struct is read, since later fields differ between versions. */
async function readJobV2(
  reader: ChainReader,
  to: Address,
  jobId: bigint,
): Promise<Pick<PaidJob, 'client' | 'provider'>> {
  const data = encodeFunctionData({ abi: jobs, args: [jobId] })
  return await reader.view({ to, data }, (returned) => {
    if (returned === '0x') throw new ChainError(`job ${jobId} of ACP v2 has no record`)
    const [, , client, provider] = decodeAbiParameters(jobHead, slice(returned, 32))
    return { client, provider }
  })
}

async function readMemo(
  reader: ChainReader,
  at: AcpContracts,
  memoId: bigint,
  jobId: bigint,
): Promise<PaidJob> {
  const data = encodeFunctionData({ abi: memoDetails, args: [memoId] })
  const [token, , recipient] = await reader.view({ to: at.memoManager, data }, (returned) =>
    decodeFunctionResult({ abi: memoDetails, data: returned }),
  )
  return { token, recipient, ...(await readJobV2(reader, at.jobManager, jobId)) }
}

function openedJob(log: AcpLog, client: Address, provider: Address): Payout {
  const removedBy = isAddressEqual(client, provider) ? 'self_dealing' : null
  return payoutAt(log, client, provider, { removedBy })
}

function usdcPayout(log: AcpLog, job: PaidJob, amount: bigint): Payout {
  const removedBy = removedFor(job)
  // Other tokens have other decimals, so they count as removed without an amount.
  const units = removedBy === 'not_usdc' ? 0n : amount
  const microUsdc = microFromBaseUnits(units, 6)
  return payoutAt(log, job.client, job.recipient, { units, microUsdc, removedBy })
}

function removedFor({ token, recipient, client, provider }: PaidJob): string | null {
  if (!isAddressEqual(token, usdc)) return 'not_usdc'
  if (isAddressEqual(client, provider)) return 'self_dealing'
  return isAddressEqual(recipient, client) ? 'to_client' : null
}

async function chunkPayouts(
  chunk: LogChunk<typeof acpEvents>,
  reader: ChainReader,
  at: AcpContracts,
): Promise<ChunkPayouts<Stream>> {
  const all = await mapConcurrent(chunk.logs, concurrentCalls, async (log) => {
    const { event } = log
    if (event.eventName === 'JobCreated') {
      return { jobs: openedJob(log, event.args.client, event.args.provider) }
    }
    if (event.eventName === 'ClaimedProviderFee') {
      const job = await readJobV1(reader, at, event.args.jobId)
      return { payments: usdcPayout(log, job, event.args.providerFee) }
    }
    const job = await readMemo(reader, at, event.args.memoId, event.args.jobId)
    return { payments: usdcPayout(log, job, event.args.amount) }
  })
  const payments = all.flatMap((one) => one.payments ?? [])
  return { payouts: { payments, jobs: all.flatMap((one) => one.jobs ?? []) } }
}

export const virtualsAcp = defineRail({
  rail: 'virtuals_acp',
  rule: {
    name: 'acp-fees-and-memos',
    version: '2',
    text:
      'Volume is the USDC of ClaimedProviderFee (ACP v1) and of PayableMemoExecuted (v2), each counted when it is paid out. Removed: other tokens ' +
      '(not_usdc, without an amount); jobs whose client is their own provider (self_dealing); v2 memos that pay the client back (to_client). Payable memos ' +
      'can carry capital that a provider manages beside its fee, and v2 job budgets that are paid outside memos are not seen. Creators are the clients of jobs that were ' +
      "paid in the window, workers are wallets that were paid. The contracts' records of the jobs name clients and tokens. Lifetime figures of the project's own board are not used: they never reset. Windows are whole hours.",
  },
  chains: ['base'],
  lookUps: 'base',
  read: async (ctx) => {
    const reader = ctx.chain('base')
    const at = {
      jobManager: await readModule(reader, 'jobManager'),
      memoManager: await readModule(reader, 'memoManager'),
      defaultToken: await readDefaultToken(reader),
    }
    return await aggregateLogs<typeof acpEvents, Stream>(ctx, {
      chain: 'base',
      streams: ['payments', 'jobs'],
      abi: acpEvents,
      filters: [
        { addresses: [acpV1], topics: [selectors(acpV1Events)] },
        { addresses: [at.jobManager], topics: [selectors(jobManagerEvents)] },
        { addresses: [at.memoManager], topics: [selectors(memoManagerEvents)] },
      ],
      toPayouts: async (chunk, chain) => await chunkPayouts(chunk, chain, at),
    })
  },
  reduce: (aggregated, window) => {
    const opened = monthOf(aggregated, 'jobs', window)
    const selfDealt = opened.removed['self_dealing'] ?? 0
    const notes = [`Jobs opened in 30 days: ${opened.count}.`]
    if (selfDealt > 0)
      notes.push(`Further jobs that name one wallet as client and provider: ${selfDealt}.`)
    return reduceStream(aggregated, 'payments', window, { notes })
  },
})
