/** Virtuals ACP on Base: payments released by the current escrow, and fees and memos of the two legacy contracts. */
import {
  decodeAbiParameters,
  decodeFunctionResult,
  encodeFunctionData,
  formatUnits,
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
import { concurrentCalls, selectors } from '../chain/logs.ts'
import type { DecodedLog, LogChunk } from '../chain/logs.ts'
import { defineRail } from './adapter.ts'
import { aggregateLogs, monthOf } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { clientsOf } from './erc8183.ts'
import { laterTime, payoutAt, reducePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'
import type { StreamPayout } from './streams.ts'

const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const acpV1: Address = '0x6a1FE26D54ab0d3E1e3168f2e0c0cDa5cC0A0A4A'
const routerV2: Address = '0xa6C9BA866992cfD7fd6460ba912bfa405adA9df0'
/** AgenticCommerceV3: Virtual-Protocol/acp-node-v2 src/core/constants.ts, events in src/core/acpAbi.ts. */
const escrow: Address = '0x238E541BfefD82238730D00a2208E5497F1832E0'

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
export const acpEscrowEvents = parseAbi([
  'event JobCreated(uint256 indexed jobId, address indexed client, address indexed provider, address evaluator, uint256 expiredAt, address hook)',
  'event JobFunded(uint256 indexed jobId, address indexed client, uint256 amount)',
  'event PaymentReleased(uint256 indexed jobId, address indexed provider, uint256 amount)',
])
const acpEvents = [
  ...acpV1Events,
  ...jobManagerEvents,
  ...memoManagerEvents,
  ...acpEscrowEvents,
] as const
type AcpLog = DecodedLog<typeof acpEvents>
/** `payments` are those of the legacy contracts. */
type Stream = 'escrow' | 'payments' | 'jobs'

/** The record of a v1 job names its token; the zero address stands for the token of the contract. */
const acpV1Views = parseAbi([
  'function jobs(uint256 jobId) view returns (uint256 id, address client, address provider, uint256 budget, uint256 amountClaimed, uint8 phase, uint256 memoCount, uint256 expiredAt, address evaluator, address jobPaymentToken)',
])
const addresses = parseAbi([
  'function jobManager() view returns (address)',
  'function memoManager() view returns (address)',
  'function paymentToken() view returns (address)',
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
  readonly escrowToken: Address
}

/** What the contracts know about one payment. */
interface PaidJob {
  /** Null if the current escrow was funded before the first block that was read. */
  readonly client: string | null
  readonly provider: Address
  readonly token: Address
  readonly recipient: Address
}

/** The operators of v2 may replace its modules. */
async function readAddress(
  reader: ChainReader,
  to: Address,
  functionName: (typeof addresses)[number]['name'],
): Promise<Address> {
  const data = encodeFunctionData({ abi: addresses, functionName })
  const found = await reader.view({ to, data }, (returned) =>
    decodeFunctionResult({ abi: addresses, functionName, data: returned }),
  )
  if (to !== routerV2 || !isAddressEqual(found, zeroAddress)) return found
  throw new ChainError(`ACP v2 names no ${functionName}`)
}

/** Events do not show the token of a fee, and the one of an old job may be outside the blocks that were read. */
async function readJobV1(
  reader: ChainReader,
  { defaultToken }: AcpContracts,
  jobId: bigint,
): Promise<PaidJob> {
  const data = encodeFunctionData({ abi: acpV1Views, args: [jobId] })
  const [, client, provider, , , , , , , token] = await reader.view(
    { to: acpV1, data },
    (returned) => decodeFunctionResult({ abi: acpV1Views, data: returned }),
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

function usdcPayout(log: AcpLog, job: PaidJob, amount: bigint): Payout {
  const removedBy = removedFor(job)
  // Other tokens have other decimals, so they count as removed without an amount.
  const units = removedBy === 'not_usdc' ? 0n : amount
  return payoutAt(log, job.client, job.recipient, { units, removedBy })
}

function removedFor({ token, recipient, client, provider }: PaidJob): string | null {
  if (!isAddressEqual(token, usdc)) return 'not_usdc'
  if (client?.toLowerCase() === provider.toLowerCase()) return 'self_dealing'
  return client?.toLowerCase() === recipient.toLowerCase() ? 'to_client' : null
}

async function streamEntry(
  log: AcpLog,
  reader: ChainReader,
  at: AcpContracts,
  clients: ReadonlyMap<string, string>,
): Promise<StreamPayout<Stream> | null> {
  const { event } = log
  switch (event.eventName) {
    case 'JobCreated': {
      const { client, provider } = event.args
      const removedBy = isAddressEqual(client, provider) ? 'self_dealing' : null
      return ['jobs', payoutAt(log, client, provider, { removedBy })]
    }
    case 'PaymentReleased': {
      const { jobId, provider, amount } = event.args
      const client = clients.get(String(jobId)) ?? null
      const job = { client, provider, recipient: provider, token: at.escrowToken }
      return ['escrow', usdcPayout(log, job, amount)]
    }
    case 'ClaimedProviderFee': {
      const job = await readJobV1(reader, at, event.args.jobId)
      return ['payments', usdcPayout(log, job, event.args.providerFee)]
    }
    case 'PayableMemoExecuted': {
      const job = await readMemo(reader, at, event.args.memoId, event.args.jobId)
      return ['payments', usdcPayout(log, job, event.args.amount)]
    }
    case 'JobFunded':
    default:
      return null
  }
}

async function chunkPayouts(
  { logs }: LogChunk<typeof acpEvents>,
  reader: ChainReader,
  memory: ReadonlyMap<string, number>,
  at: AcpContracts,
): Promise<ChunkPayouts<Stream>> {
  const { clients, remember } = clientsOf(
    memory,
    logs.flatMap(({ event, block }) =>
      event.eventName === 'JobFunded' ? [{ block, args: event.args }] : [],
    ),
  )
  const read = async (log: AcpLog) => await streamEntry(log, reader, at, clients)
  const entries = await mapConcurrent(logs, concurrentCalls, read)
  return { payouts: entries.filter((entry) => entry !== null), remember }
}

const usdcText = (units: bigint): string => `${formatUnits(units, 6)} USDC`

export const virtualsAcp = defineRail({
  rail: 'virtuals_acp',
  rule: {
    name: 'acp-escrow-fees-and-memos',
    version: '3',
    text:
      'Volume is the USDC of PaymentReleased of the current escrow, after the fee of the platform, and of the two legacy contracts: ClaimedProviderFee (ACP v1) and ' +
      'PayableMemoExecuted (v2), each counted when it is paid out. Removed: other tokens ' +
      '(not_usdc, without an amount); jobs whose client is their own provider (self_dealing); v2 memos that pay the client back (to_client). Payable memos ' +
      'can carry capital that a provider manages beside its fee, and v2 job budgets that are paid outside memos are not seen. Capital that hooks of the current escrow ' +
      'move is not counted. Creators are the clients of jobs that were paid in the window, workers are wallets that were paid. The records of the legacy contracts name ' +
      'clients and tokens, and JobFunded names the clients of the current escrow; a client who funded a job before the first block that was read is unknown. ' +
      "Lifetime figures of the project's own board are not used: they never reset. Windows are whole hours.",
  },
  chains: ['base'],
  lookUps: 'base',
  read: async (ctx) => {
    const readContracts = async () => {
      const reader = ctx.chain('base')
      return {
        jobManager: await readAddress(reader, routerV2, 'jobManager'),
        memoManager: await readAddress(reader, routerV2, 'memoManager'),
        /** Token of v1 jobs that name none. */
        defaultToken: await readAddress(reader, acpV1, 'paymentToken'),
        escrowToken: await readAddress(reader, escrow, 'paymentToken'),
      }
    }
    const at = await ctx.evidence.list('contracts', readContracts, 'chain')
    return await aggregateLogs<typeof acpEvents, Stream>(ctx, {
      chain: 'base',
      streams: { escrow: { decimals: 6 }, payments: { decimals: 6 }, jobs: 'events' },
      abi: acpEvents,
      filters: [
        { addresses: [acpV1], topics: [selectors(acpV1Events)] },
        { addresses: [at.jobManager], topics: [selectors(jobManagerEvents)] },
        { addresses: [at.memoManager], topics: [selectors(memoManagerEvents)] },
        { addresses: [escrow], topics: [selectors(acpEscrowEvents)] },
      ],
      toPayouts: async (chunk, chain, memory) => await chunkPayouts(chunk, chain, memory, at),
    })
  },
  reduce: (aggregated, window) => {
    const opened = monthOf(aggregated, 'jobs', window)
    const released = monthOf(aggregated, 'escrow', window)
    const legacy = monthOf(aggregated, 'payments', window)
    const selfDealt = opened.removed['self_dealing'] ?? 0
    const notes = [
      `Paid in 30 days: ${usdcText(released.keptUnits)} (payments: ${released.count}) by the current escrow ${escrow}, ${usdcText(legacy.keptUnits)} (payments: ${legacy.count}) by the legacy contracts.`,
      `Jobs opened in 30 days: ${opened.count}.`,
    ]
    if (selfDealt > 0)
      notes.push(`Further jobs that name one wallet as client and provider: ${selfDealt}.`)
    const { payments, escrow: current } = aggregated.streams
    return reducePayouts([...payments.buckets, ...current.buckets], window, {
      lastPayoutAtMs: laterTime(payments.lastPayoutAtMs, current.lastPayoutAtMs),
      evidence: aggregated.evidence,
      notes: [...notes, ...aggregated.notes],
    })
  },
})
