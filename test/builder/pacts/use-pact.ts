import type { Address } from 'viem'
import { afterAll, beforeAll, beforeEach } from 'vitest'

import { dayMs, hourMs, minuteMs } from '../../../src/core/time.ts'
import {
  arbitrator,
  creator,
  firstPactId as id,
  startPactChain,
  worker,
} from '../../support/pact-chain.ts'
import type { PactChain } from '../../support/pact-chain.ts'
import { manifestsOf, pactLedger } from '../../support/pact-ledger.ts'
import { proxyDuringTest } from '../../support/rpc-proxy.ts'
import type { ProxyRules } from '../../support/rpc-proxy.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

export { arbitrator, creator, id, worker }
export const genesisMs = Date.UTC(2026, 10, 1)
export const deadlineMs = Date.UTC(2026, 10, 10, 12)
export const paidMs = genesisMs + 3 * dayMs + hourMs
export const manifests = manifestsOf(id, deadlineMs)
/** More blocks than a block needs to become final. */
export const finalBlocks = 20

interface PactPayment {
  readonly name?: string
  readonly pactId?: number
  readonly to?: Address
  readonly microUsdc?: number
  readonly atMs?: number
}

/** Starts a chain for all tests of the file; each test has a new ledger and begins with an empty escrow. */
export function usePact() {
  allowSlowTests('starts anvil')
  let chain: PactChain
  let ledger: Awaited<ReturnType<typeof pactLedger>>
  let restore: () => Promise<void>
  beforeAll(async () => {
    chain = await startPactChain(genesisMs)
  })
  afterAll(() => chain.stop())
  beforeEach(async () => {
    restore = await chain.snapshot()
    ledger = await pactLedger(chain.url, genesisMs)
    ledger.addManifests(id, manifests)
    return () => restore()
  })
  const create = async () => await chain.create(deadlineMs, genesisMs + dayMs)
  const submit = async (hash: string = manifests.workHash) =>
    await chain.act(worker, 'submitWork', [id, hash], genesisMs + 2 * dayMs)
  const approve = async () => await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
  const toHead = async () => ledger.at((await chain.headTimeMs()) + minuteMs)
  return {
    get chain() {
      return chain
    },
    get ledger() {
      return ledger
    },
    create,
    submit,
    approve,
    complete: async () => {
      await create()
      await submit()
      await approve()
    },
    pay: async (payment: PactPayment = {}) => {
      const { name = '1', pactId = id, to = worker, microUsdc = 12_500_000 } = payment
      const { atMs = paidMs } = payment
      const txHash = await chain.pay(creator, to, microUsdc, atMs)
      ledger.at(atMs)
      return await ledger.receipt({ id: name, pactId, txHash, from: creator, to, microUsdc })
    },
    settle: async () => {
      await chain.mine(finalBlocks)
      await toHead()
      await ledger.checkReceipts()
    },
    toHead,
    read: async () => {
      await toHead()
      return await ledger.check()
    },
    restart: async () => {
      await restore()
      restore = await chain.snapshot()
    },
    /** Lets the ledger read its chain through a node that distorts answers. */
    distort: async (change: ProxyRules['change'] & {}) =>
      ledger.useNode((await proxyDuringTest(chain.url, { change })).url),
  }
}
