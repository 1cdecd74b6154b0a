import type { Address } from 'viem'
import { expect, test } from 'vitest'

import {
  erc8004,
  erc8004Base,
  identityEvents,
  reputationEvents,
} from '../../../builder/rails/erc8004.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs } from '../../../src/core/time.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, startRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet, word } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

const identity: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const reputation: Address = '0x8004BAa17C55a88189AE136b182e5fdA19dE9b63'

function registered(agentId: bigint, owner: Address): ScriptedLog {
  return logOf(identity, identityEvents, 'Registered', {
    agentId,
    agentURI: 'https://agent.example/\u0000',
    owner,
  })
}
function feedback(agentId: bigint, clientAddress: Address): ScriptedLog {
  return logOf(reputation, reputationEvents, 'NewFeedback', {
    agentId,
    clientAddress,
    feedbackIndex: 1n,
    value: -5n,
    valueDecimals: 0,
    indexedTag1: 'quality',
    tag1: 'quality',
    tag2: '',
    endpoint: '',
    feedbackURI: '',
    feedbackHash: word(0),
  })
}

allowSlowTests('starts anvil')

test.each([
  ['ethereum', erc8004],
  ['base', erc8004Base],
] as const)(
  'the ERC-8004 rail on %s counts feedback as activity without a volume',
  async (chain, adapter) => {
    const played = await startRailChain(chain, [identity, reputation], async (anvil) => {
      await anvil.block(endMs - 32 * dayMs, [feedback(3n, wallet(9))])
      await anvil.block(endMs - 20 * dayMs, [
        registered(1n, wallet(1)),
        registered(2n, wallet(1)),
        registered(3n, wallet(2)),
      ])
      await anvil.block(endMs - 2 * dayMs, [
        feedback(1n, wallet(5)),
        feedback(2n, wallet(6)),
        feedback(1n, wallet(6)),
      ])
    })
    const { measurement } = await played.poll(adapter)
    await played.stop()
    expect(measurement.figures).toEqual({
      ...unknownFigures,
      ...volumes(0, 0),
      uniqueCreators30d: 2,
      uniqueWorkers30d: 2,
      // 2 of 3
      topWorkerShare: 0.666666,
      activity30d: 3,
    })
    expect(measurement.notes).toEqual(['3 agents registered by 2 owners in 30 days.'])
  },
)
