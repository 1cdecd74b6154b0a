/** Local copies of all sources of the builder: EVM nodes with scripted contracts, recorded HTTP responses and a Solana node. */
import {
  encodeAbiParameters,
  encodeFunctionData,
  encodeFunctionResult,
  parseAbi,
  parseEther,
  parseUnits,
  zeroAddress,
} from 'viem'
import type { Address } from 'viem'

import { identityEvents, reputationEvents } from '../../builder/rails/erc8004.ts'
import { httpRails } from '../../builder/rails/index.ts'
import { marketplaceEvents, trackerEvents } from '../../builder/rails/olas.ts'
import { escrowEvents } from '../../builder/rails/pact.ts'
import { poidhEvents } from '../../builder/rails/poidh.ts'
import { acpEscrowEvents, acpV1Events } from '../../builder/rails/virtuals_acp.ts'
import { batchEscrow, channelEvents } from '../../builder/rails/x402-channels.ts'
import { usdcEvents } from '../../builder/rails/x402.ts'
import { chains } from '../../src/chain/chains.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { fixturesOf, startAnswering, startReplayServer } from '../support/replay-server.ts'
import type { ReplayMode, ReplayRequest, ReplayServer } from '../support/replay-server.ts'
import { logOf, wallet, word } from '../support/scripted-contract.ts'
import type { ScriptedLog } from '../support/scripted-contract.ts'
import { startSolanaNode } from '../support/solana-node.ts'
import type { FakeTransaction } from '../support/solana-node.ts'

export const firstPollMs = Date.UTC(2026, 9, 4, 12, 30)
/** Midnight UTC, so many days before the day after the polls. */
export const daysAgo = (days: number): number => Date.UTC(2026, 9, 5) - days * dayMs

export interface RecordedSources {
  readonly env: Readonly<Record<string, string>>
  readonly setMode: (rail: string, mode: ReplayMode) => void
  /** Mines empty blocks on every chain, so that earlier blocks are final. */
  readonly settle: (atMs: number) => Promise<void>
  /** One more bounty of POIDH on Base. */
  readonly claim: (atMs: number) => Promise<void>
  readonly unmatched: () => readonly string[]
  /** Number of HTTP requests so far. */
  readonly requests: () => number
  readonly stop: () => Promise<void>
}

export async function startRecordedSources(): Promise<RecordedSources> {
  const nodes = new Map<EvmChain, Anvil>()
  for (const chain of evmChains) {
    const anvil = await startAnvil(chains[chain].chainId, daysAgo(40))
    nodes.set(chain, anvil)
    await scripts[chain](anvil)
  }
  // Look-ups end half an hour before the head, counted in blocks of two seconds.
  await nodes.get('base')?.settle(1000, firstPollMs - hourMs)
  const settle = async (atMs: number) => {
    for (const [chain, anvil] of nodes) await anvil.settle(chains[chain].settleBlocks + 1, atMs)
  }
  await settle(firstPollMs)

  const servers = new Map<string, ReplayServer>()
  for (const { rail } of httpRails) {
    if (!servedSeparately.has(rail)) servers.set(rail, await startReplayServer(rail))
  }
  servers.set('solana_registry', await startAnswering(registryAnswer))
  for (const rail of ['x402', 'x402_polygon', 'x402_arbitrum']) {
    servers.set(rail, await startAnswering(() => ({ body: sellers })))
  }
  const solana = await startSolanaNode()
  solana.setTransactions(solanaPayments)

  const env: Record<string, string> = { RPC_URL_SOLANA: solana.url }
  for (const [chain, { url }] of nodes) env[`RPC_URL_${chain.toUpperCase()}`] = url
  for (const [rail, { url }] of servers) env[`RAIL_BASE_URL_${rail.toUpperCase()}`] = url
  return {
    env,
    setMode: (rail, mode) => servers.get(rail)?.setMode(mode),
    settle,
    claim: async (atMs) =>
      void (await nodes.get('base')?.block(atMs, [claimAccepted(3, 3, '0.03')])),
    unmatched: () => [...servers.values(), solana].flatMap((server) => server.unmatched),
    requests: () => [...servers.values()].reduce((sum, { requests }) => sum + requests.length, 0),
    stop: async () => {
      for (const anvil of nodes.values()) await anvil.stop()
      for (const server of [...servers.values(), solana]) await server.close()
    },
  }
}

const servedSeparately = new Set(['x402_solana', 'solana_registry'])

/** The adapter also requests the page after the last recorded one. */
function registryAnswer({ path }: ReplayRequest): { readonly body: unknown } | undefined {
  if (path.endsWith('&offset=6')) return { body: [] }
  const fixture = registryFixtures.find(({ request }) => request.path === path)
  return fixture === undefined ? undefined : { body: fixture.answer.body }
}
const registryFixtures = fixturesOf('solana_registry')

const quietChains = ['polygon', 'optimism', 'celo', 'bsc', 'tempo'] as const
const evmChains = ['base', 'ethereum', 'arbitrum', 'gnosis', ...quietChains] as const
type EvmChain = (typeof evmChains)[number]

const nothing = async () => await Promise.resolve()

const scripts: Readonly<Record<EvmChain, (anvil: Anvil) => Promise<void>>> = {
  base: async (anvil) => {
    await anvil.place(usdc, acpV1, acpRouter, acpEscrow, poidh, feeds.base, identity, reputation)
    await anvil.place(batchEscrow)
    await answerAcpModules(anvil)
    await quote(anvil, feeds.base, 2500)
    await anvil.block(daysAgo(35), paid(buyer(1), apiOne, 500), [claimAccepted(1, 1, '9')])
    await anvil.block(
      daysAgo(20),
      funded(buyer(2), 300),
      paid(buyer(1), apiOne, 150),
      paid(buyer(2), apiOne, 200),
      opened(buyer(5), apiOne),
      [acpJob(1n, 21, 31), acpPayout(1n, 31, '5')],
      [claimAccepted(1, 1, '0.1')],
    )
    await anvil.block(
      daysAgo(5),
      paid(buyer(3), apiTwo, 75),
      paid(buyer(4), apiTwo, 25),
      claimed(50),
      paid(apiOne, apiOne, 900),
    )
    await anvil.block(
      daysAgo(3),
      [acpJob(2n, 22, 32), acpPayout(2n, 32, '97')],
      acpReleased(9n, 22, 32, '3'),
      [claimAccepted(2, 2, '0.02')],
      [feedback(1n, 51), feedback(1n, 52)],
    )
  },
  ethereum: async (anvil) => {
    await anvil.place(identity, reputation)
    await anvil.block(daysAgo(32), [feedback(1n, 51)])
    await anvil.block(daysAgo(10), [
      logOf(identity, identityEvents, 'Registered', {
        agentId: 2n,
        agentURI: 'https://agent.example/',
        owner: wallet(50),
      }),
    ])
  },
  arbitrum: async (anvil) => {
    await anvil.place(escrow, pactToken, poidh, feeds.arbitrum)
    await quote(anvil, feeds.arbitrum, 2000)
    await answerPact(anvil, 12n, 61, 71)
    await answerPact(anvil, 13n, 62, 72)
    await answerUnknownPacts(anvil, 14)
    await anvil.block(daysAgo(12), [pactApproved(12n, 61), pactPaid(71, '300')])
    await anvil.block(
      daysAgo(3),
      [pactApproved(13n, 62), pactPaid(72, '100')],
      [claimAccepted(1, 1, '0.05')],
    )
  },
  gnosis: async (anvil) => {
    await anvil.place(marketplace, nativeTracker, ...otherTrackers)
    await anvil.block(
      daysAgo(20),
      [1, 2, 3].flatMap((requester) => mechRequested(1, requester)),
      [mechDelivered(1, 3), mechEarned(1, '50')],
    )
    await anvil.block(
      daysAgo(4),
      [4, 5].flatMap((requester) => mechRequested(2, requester)),
      [mechDelivered(2, 2), mechEarned(2, '25')],
    )
    await anvil.block(daysAgo(2), [
      logOf(nativeTracker, trackerEvents, 'Withdraw', {
        account: wallet(81),
        token: wallet(99),
        amount: 1n,
      }),
    ])
  },
  polygon: nothing,
  optimism: nothing,
  celo: nothing,
  bsc: nothing,
  tempo: nothing,
}

// x402 on Base: USDC paid by authorization to sellers in the Bazaar.
const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const apiOne = wallet(11)
const apiTwo = wallet(12)
const funder = wallet(6)
const buyer = (number: number): Address => wallet(number)

const sellers = {
  x402Version: 2,
  items: [
    { resource: 'https://one.example/', accepts: [offer('base', apiOne)] },
    { resource: 'https://two.example/', accepts: [offer('eip155:8453', apiTwo)] },
    { resource: 'https://three.example/', accepts: [offerOn('polygon'), offerOn('arbitrum')] },
  ],
  pagination: { limit: 1000, offset: 0, total: 3 },
}
function offer(network: string, payTo: Address) {
  return { scheme: 'exact', network, asset: usdc, payTo }
}

function offerOn(network: 'polygon' | 'arbitrum') {
  return { ...offer(network, apiTwo), asset: chains[network].usdc.address }
}

let nonces = 0
function paid(from: Address, to: Address, usdcCents: number): readonly ScriptedLog[] {
  nonces += 1
  const value = BigInt(usdcCents) * 10_000n
  return [
    logOf(usdc, usdcEvents, 'AuthorizationUsed', { authorizer: from, nonce: word(nonces) }),
    logOf(usdc, usdcEvents, 'Transfer', { from, to, value }),
  ]
}

const funded = (to: Address, usdcCents: number): readonly ScriptedLog[] => [
  logOf(usdc, usdcEvents, 'Transfer', {
    from: funder,
    to,
    value: BigInt(usdcCents) * 10_000n,
  }),
]

const channelId = word(1)
/** A channel of x402 batch settlement, and the deposit of its payer. */
function opened(payer: Address, receiver: Address): readonly ScriptedLog[] {
  const authorizers = { payerAuthorizer: zeroAddress, receiverAuthorizer: receiver }
  const config = { payer, receiver, ...authorizers, token: usdc, withdrawDelay: 900, salt: word(0) }
  return [
    logOf(usdc, usdcEvents, 'Transfer', { from: payer, to: batchEscrow, value: 5_000_000n }),
    logOf(batchEscrow, channelEvents, 'ChannelCreated', { channelId, config }),
  ]
}

function claimed(usdcCents: number): readonly ScriptedLog[] {
  const claimAmount = BigInt(usdcCents) * 10_000n
  const args = { channelId, sender: apiOne, claimAmount, newTotalClaimed: claimAmount }
  return [logOf(batchEscrow, channelEvents, 'Claimed', args)]
}

// Virtuals ACP version 1 and the current escrow; the router of version 2 has modules without events.
const acpV1: Address = '0x6a1FE26D54ab0d3E1e3168f2e0c0cDa5cC0A0A4A'
const acpRouter: Address = '0xa6C9BA866992cfD7fd6460ba912bfa405adA9df0'
const acpEscrow: Address = '0x238E541BfefD82238730D00a2208E5497F1832E0'
const acpCalls = parseAbi([
  'function jobManager() view returns (address)',
  'function memoManager() view returns (address)',
  'function paymentToken() view returns (address)',
  'function jobs(uint256 jobId) view returns (uint256 id, address client, address provider, uint256 budget, uint256 amountClaimed, uint8 phase, uint256 memoCount, uint256 expiredAt, address evaluator, address jobPaymentToken)',
])
async function answerAcpModules(anvil: Anvil): Promise<void> {
  for (const [functionName, module] of [
    ['jobManager', wallet(101)],
    ['memoManager', wallet(102)],
  ] as const) {
    const call = encodeFunctionData({ abi: acpCalls, functionName })
    await anvil.answer(acpRouter, call, encodeAbiParameters([{ type: 'address' }], [module]))
  }
  const tokenCall = encodeFunctionData({ abi: acpCalls, functionName: 'paymentToken' })
  for (const contract of [acpV1, acpEscrow])
    await anvil.answer(contract, tokenCall, encodeAbiParameters([{ type: 'address' }], [usdc]))
  for (const [id, client, provider] of [
    [1n, wallet(21), wallet(31)],
    [2n, wallet(22), wallet(32)],
  ] as const) {
    const job = { abi: acpCalls, functionName: 'jobs' } as const
    const record = [id, client, provider, 1n, 1n, 4, 2n, 0n, zeroAddress, zeroAddress] as const
    const call = encodeFunctionData({ ...job, args: [id] })
    await anvil.answer(acpV1, call, encodeFunctionResult({ ...job, result: record }))
  }
}
function acpJob(jobId: bigint, client: number, provider: number): ScriptedLog {
  return logOf(acpV1, acpV1Events, 'JobCreated', {
    jobId,
    client: wallet(client),
    provider: wallet(provider),
    evaluator: zeroAddress,
  })
}
function acpReleased(jobId: bigint, client: number, provider: number, amount: string) {
  const units = parseUnits(amount, 6)
  const funded = { jobId, client: wallet(client), amount: units }
  const paid = { jobId, provider: wallet(provider), amount: units }
  return [
    logOf(acpEscrow, acpEscrowEvents, 'JobFunded', funded),
    logOf(acpEscrow, acpEscrowEvents, 'PaymentReleased', paid),
  ]
}
function acpPayout(jobId: bigint, provider: number, amount: string): ScriptedLog {
  return logOf(acpV1, acpV1Events, 'ClaimedProviderFee', {
    jobId,
    provider: wallet(provider),
    providerFee: parseUnits(amount, 6),
  })
}

// POIDH on both chains, with their price feeds.
const poidh: Address = '0x5555fa783936c260f77385b4e153b9725fef1719'
const feeds = {
  base: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
  arbitrum: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
} as const
async function quote(anvil: Anvil, feed: Address, usd: number): Promise<void> {
  const updatedAt = BigInt((firstPollMs - hourMs) / 1000)
  const types = ['uint80', 'int256', 'uint256', 'uint256', 'uint80'].map((type) => ({ type }))
  const round = encodeAbiParameters(types, [9n, BigInt(usd) * 10n ** 8n, 0n, updatedAt, 9n])
  const call = encodeFunctionData({ abi: parseAbi(['function latestRoundData()']) })
  await anvil.answer(feed, call, round)
}
function claimAccepted(issuer: number, worker: number, ether: string): ScriptedLog {
  return logOf(poidh, poidhEvents, 'ClaimAccepted', {
    bountyId: 1n,
    claimId: 2n,
    claimIssuer: wallet(44 + worker),
    bountyIssuer: wallet(40 + issuer),
    bountyAmount: parseEther(ether),
    payout: parseEther(ether),
    fee: 1n,
    round: 0n,
  })
}

// ERC-8004 registries, which have the same addresses on both chains.
const identity: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const reputation: Address = '0x8004BAa17C55a88189AE136b182e5fdA19dE9b63'
function feedback(agentId: bigint, client: number): ScriptedLog {
  return logOf(reputation, reputationEvents, 'NewFeedback', {
    agentId,
    clientAddress: wallet(client),
    feedbackIndex: 1n,
    value: 5n,
    valueDecimals: 0,
    indexedTag1: 'quality',
    tag1: 'quality',
    tag2: '',
    endpoint: '',
    feedbackURI: '',
    feedbackHash: word(0),
  })
}

// PACT escrow on Arbitrum.
const escrow: Address = '0x220B97972d6028Acd70221890771E275e7734BFB'
const pactToken: Address = '0x809c2540358E2cF37050cCE41A610cb6CE66Abe1'
async function answerPact(
  anvil: Anvil,
  pactId: bigint,
  creator: number,
  worker: number,
): Promise<void> {
  const [{ inputs }] = parseAbi([
    'function f((address, address, address, uint256, uint256, uint256, uint256, uint256, uint256, uint256, bytes32, uint8) record)',
  ])
  const parties = [wallet(creator), wallet(worker), zeroAddress] as const
  const record = [...parties, 1n, 0n, 0n, 0n, 0n, 0n, 0n, word(0), 2] as const
  const abi = parseAbi(['function getPact(uint256 pactId) view'])
  const call = encodeFunctionData({ abi, args: [pactId] })
  await anvil.answer(escrow, call, encodeAbiParameters(inputs, [record]))
}
/** The escrow returns zeros for unknown pact ids. */
async function answerUnknownPacts(anvil: Anvil, next: number): Promise<void> {
  const uint = [{ type: 'uint256' }] as const
  const abi = parseAbi(['function nextPactId() view', 'function getPact(uint256 pactId) view'])
  const nextId = encodeFunctionData({ abi, functionName: 'nextPactId' })
  await anvil.answer(escrow, nextId, encodeAbiParameters(uint, [BigInt(next)]))
  for (let pactId = 0; pactId < 12; pactId += 1) {
    const call = encodeFunctionData({ abi, functionName: 'getPact', args: [BigInt(pactId)] })
    await anvil.answer(escrow, call, `0x${'0'.repeat(12 * 64)}`)
  }
}
function pactApproved(pactId: bigint, creator: number): ScriptedLog {
  return logOf(escrow, escrowEvents, 'PactApproved', { pactId, creator: wallet(creator) })
}
function pactPaid(worker: number, amount: string): ScriptedLog {
  return logOf(pactToken, usdcEvents, 'Transfer', {
    from: escrow,
    to: wallet(worker),
    value: parseUnits(amount, 18),
  })
}

// Olas mechs on Gnosis.
const marketplace: Address = '0x735FAAb1c4Ec41128c367AFb5c3baC73509f70bB'
const nativeTracker: Address = '0x21cE6799A22A3Da84B7c44a814a9c79ab1d2A50D'
const otherTrackers: readonly Address[] = [
  '0x53Bd432516707a5212A70216284a99A563aAC1D1',
  '0x7D686bD1fD3CFF6E45a40165154D61043af7D67c',
]
function mechRequested(mech: number, requester: number): readonly ScriptedLog[] {
  return [
    logOf(marketplace, marketplaceEvents, 'MarketplaceRequest', {
      priorityMech: wallet(80 + mech),
      requester: wallet(90 + requester),
      numRequests: 1n,
      requestIds: [word(requester)],
    }),
    logOf(nativeTracker, trackerEvents, 'RequesterBalanceAdjusted', {
      requester: wallet(90 + requester),
      deliveryRate: 1n,
      balance: 0n,
    }),
  ]
}
function mechDelivered(mech: number, count: number): ScriptedLog {
  const all = Array.from({ length: count })
  return logOf(marketplace, marketplaceEvents, 'MarketplaceDelivery', {
    deliveryMech: wallet(80 + mech),
    requesters: all.map((_, at) => wallet(91 + at)),
    numDeliveries: BigInt(count),
    requestIds: all.map((_, at) => word(at)),
    deliveredRequests: all.map(() => true),
  })
}
function mechEarned(mech: number, amount: string): ScriptedLog {
  return logOf(nativeTracker, trackerEvents, 'MechBalanceAdjusted', {
    mech: wallet(80 + mech),
    deliveryRate: parseEther(amount),
    balance: 0n,
    rateDiff: 0n,
  })
}

// x402 on Solana: USDC transfers in transactions whose fee a facilitator paid.
const payAi = '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4'
function solanaPayment(days: number, from: string, to: string, cents: number): FakeTransaction {
  return {
    signature: `signature-${days}-${from}`,
    slot: 400_000_000 - days,
    atMs: daysAgo(days),
    feePayer: payAi,
    transfers: [{ from, to, units: String(cents * 10_000) }],
  }
}
const solanaPayments = [
  solanaPayment(2, 'Buyer1', 'SellerA', 200),
  solanaPayment(3, 'Buyer2', 'SellerA', 100),
  solanaPayment(10, 'Buyer3', 'SellerB', 50),
  solanaPayment(11, 'Buyer4', 'SellerB', 25),
  solanaPayment(12, 'Buyer5', 'SellerA', 25),
]
