import type { Address } from 'viem'
import { expect, test } from 'vitest'

import { commerceEvents, erc8183Bnb } from '../../../builder/rails/erc8183.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'

const commerce: Address = '0xEA4dAa3100a767E86FDed867729ae7446476Eba6'
const [provider, secondProvider, client, secondClient] = [1, 2, 3, 4].map(wallet)
const cent = 10n ** 16n
function funded(jobId: bigint, from: Address | undefined, to: Address | undefined) {
  const args = { jobId, client: from, provider: to, amount: 999n * cent }
  return logOf(commerce, commerceEvents, 'JobFunded', args)
}
function paid(jobId: bigint, to: Address | undefined, cents: bigint) {
  const args = { jobId, provider: to, amount: cents * cent }
  return logOf(commerce, commerceEvents, 'PaymentReleased', args)
}

const chain = useRailChain('bsc', [commerce], async (anvil) => {
  await anvil.block(endMs - 35 * dayMs, [funded(1n, client, provider)])
  await anvil.block(endMs - 20 * dayMs, [
    funded(2n, client, provider),
    funded(3n, secondClient, secondProvider),
    funded(4n, provider, provider),
    paid(1n, provider, 100n),
  ])
  await anvil.block(endMs - 5 * dayMs, [paid(2n, provider, 250n), paid(4n, provider, 9000n)])
})

test('ERC-8183 counts released payments by the clients that funded them, in later polls too', async () => {
  await chain.undone(async () => {
    const database = await tempDatabase()
    const { measurement } = await chain.poll(erc8183Bnb, { database })
    expect(measurement.figures).toMatchObject({
      // The client of job 1 funded it before the window; job 4 pays its own client.
      ...volumes(3_500_000, 2_500_000, 93_500_000, 92_500_000),
      uniqueCreators30d: 1,
      uniqueWorkers30d: 1,
      lastPayoutAtMs: endMs - 5 * dayMs,
    })
    expect(measurement.removed30d).toEqual({ self_dealing: 1 })
    await chain.anvil().block(endMs + hourMs, [paid(3n, secondProvider, 50n)])
    await chain.settle(endMs + 6 * hourMs)
    const later = await chain.poll(erc8183Bnb, { database, endMs: endMs + 6 * hourMs })
    expect(later.measurement.figures).toMatchObject({
      tpv30dMicroUsdc: 4_000_000,
      uniqueCreators30d: 2,
      uniqueWorkers30d: 2,
    })
  })
})
