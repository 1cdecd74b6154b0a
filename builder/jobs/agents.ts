/** Reads from the ERC-8004 registries which wallets the agents name that workers have registered. */
import { encodeFunctionData, parseAbi, zeroAddress } from 'viem'

import { chains } from '../../src/chain/chains.ts'
import { ChainError, refusalOf } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { wordValue } from '../../src/chain/values.ts'
import { agentChains } from '../../src/contract/schemas/worker.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { updateRecord } from '../../src/db/records.ts'
import { agentsToCheck, forgetAgents } from '../../src/db/workers.ts'
import { identityRegistry } from '../rails/erc8004.ts'
import type { Sources } from '../rails/sources.ts'
import type { BuilderDeps } from './run-job.ts'

const abi = parseAbi(['function getAgentWallet(uint256 agentId) view returns (address)'])
/** The owner of an agent may change its wallet. */
const recheckMs = dayMs
/** An older answer of the registry is not shown. */
const maxAgeMs = 3 * dayMs
const atOnce = 500
/** Error code of a call that the contract reverts (EIP-1474 as Geth answers it). */
const reverted = 3

interface AgentDeps extends Pick<BuilderDeps, 'clock' | 'database' | 'signal'> {
  readonly sources: Pick<Sources, 'chain' | 'hasNode'>
}

/** Returns the number of agents that were read. A public node is not sufficient evidence. */
export async function checkAgents(deps: AgentDeps): Promise<number> {
  const { database, clock, signal, sources } = deps
  let read = 0
  const oldest = isoTime(clock.now() - maxAgeMs)
  await database.write((tx) => forgetAgents(tx, oldest))
  for (const chain of agentChains.filter(sources.hasNode)) {
    const prefix = `eip155:${chains[chain].chainId}:`
    const before = isoTime(clock.now() - recheckMs)
    const due = await agentsToCheck(database.reader, prefix, before, atOnce)
    const node = sources.chain(chain, signal)
    for (const { wallet, agent } of due) {
      const agentWallet = await walletOf(node, BigInt(agent.slice(prefix.length)))
      // The others wait for the next run.
      if (agentWallet === 'no answer') break
      const checked = { agentWallet, agentCheckedAt: isoTime(clock.now()) }
      await database.write((tx) => updateRecord(tx, 'workers', { wallet, agent }, checked))
      if (agentWallet !== null) read += 1
    }
  }
  return read
}

/** The zero address for an agent that has no wallet or does not exist; null if the node refuses the call. */
async function walletOf(node: ChainReader, agentId: bigint): Promise<string | null> {
  const data = encodeFunctionData({ abi, args: [agentId] })
  try {
    const word = await node.view({ to: identityRegistry, data }, (found) => wordValue.parse(found))
    return `0x${word.toString(16).padStart(40, '0')}`
  } catch (error) {
    if (refusalOf(error)?.code === reverted) return zeroAddress
    if (!(error instanceof ChainError)) throw error
    return error.isTransient ? 'no answer' : null
  }
}
