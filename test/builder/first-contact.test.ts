/** The first read of two rails from a node that answers 5 requests a second and ranges of 2,000 blocks. */
import { randomBytes } from 'node:crypto'

import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { expect, test } from 'vitest'

import { pollRound } from '../../builder/jobs/poll.ts'
import { erc8004Base } from '../../builder/rails/erc8004.ts'
import { poidh, poidhEvents } from '../../builder/rails/poidh.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { loadAuthored } from '../../builder/world/authored.ts'
import { stateOf } from '../../builder/world/stored-rails.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { dayMs, hourMs, secondMs } from '../../src/core/time.ts'
import { loadBackfills, historyOf, loadRailStates } from '../../src/db/polls.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { createFakeNode, sleepingClock } from '../support/fake-node.ts'
import { quietLog } from '../support/quiet-log.ts'
import { logOf, wallet } from '../support/scripted-contract.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('reads 1.3 million blocks of three contracts')

const blockMs = 2 * secondMs
const head = 30_000_000
const windowBlocks = (30 * dayMs) / blockMs
const poidhContract = '0x5555fa783936c260f77385b4e153b9725fef1719'

/** Claims of 1 ETH. */
const logs = [29, 14, 1].map((days) => ({
  block: head - Math.round((days * dayMs) / blockMs),
  ...logOf(poidhContract, poidhEvents, 'ClaimAccepted', {
    bountyId: 1n,
    claimId: 1n,
    claimIssuer: wallet(3),
    bountyIssuer: wallet(10 + days),
    bountyAmount: 10n ** 18n,
    payout: 10n ** 18n,
    fee: 0n,
    round: 0n,
  }),
}))

/** Chainlink's answer: 2,000 USD for 1 ETH. */
function priceAt(seconds: number) {
  const round = parseAbiParameters('uint80, int256, uint256, uint256, uint80')
  return encodeAbiParameters(round, [1n, 2000n * 10n ** 8n, BigInt(seconds), BigInt(seconds), 1n])
}

test('a limited node is read whole over a restart, each block once, and the progress never goes back', async () => {
  const database = await tempDatabase()
  const clock = sleepingClock(Date.UTC(2026, 9, 31, 12))
  const stopped = new AbortController()
  let requests = 0
  const node = createFakeNode({
    clock,
    chainId: 8453,
    head,
    blockMs,
    perSecond: 5,
    maxRange: 2000,
    logs,
    call: priceAt,
    loses: () => {
      requests += 1
      if (requests === 1700) stopped.abort(new Error('SIGTERM'))
      return requests === 1700
    },
  })
  const { rails } = await loadAuthored('data')
  const adapters = [poidh, erc8004Base]
  const authored = rails.filter(({ rail }) => adapters.some((adapter) => adapter.rail === rail))
  const percents = new Map<string, number[]>()
  const texts: string[] = []
  const random = { bytes: (length: number) => randomBytes(length), unit: () => 0.5 }

  const poll = async (which: 'due' | 'all', signal: AbortSignal) =>
    await pollRound(
      {
        database,
        clock,
        random,
        fetch: node.fetch,
        log: quietLog,
        pollEveryMs: 6 * hourMs,
        onBackfill: ({ rail, percent, text }) => {
          percents.set(rail, [...(percents.get(rail) ?? []), percent])
          texts.push(text)
        },
        sources: createSources({
          fetch: node.fetch,
          clock,
          random,
          userAgent: 'test',
          rpcUrls: { base: node.url },
          railBaseUrls: new Map(),
        }),
      },
      { adapters, authored, which, signal },
    )

  const first = await poll('due', stopped.signal)
  expect(first.map(({ outcome }) => outcome)).toEqual(['unfinished', 'unfinished'])
  await expect(poll('all', stopped.signal)).rejects.toThrow('SIGTERM')
  const halfRead = await loadBackfills(database.reader)
  expect([...halfRead.keys()]).toEqual(['erc8004_base', 'poidh'])
  expect((await loadRailStates(database.reader)).size).toBe(0)

  const end = await poll('all', new AbortController().signal)
  expect(end.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
  expect(await loadBackfills(database.reader)).toEqual(new Map())
  expect(await historyOf(database.reader, 'poidh')).toHaveLength(1)
  const [poidhRail] = authored.filter(({ rail }) => rail === 'poidh')
  if (poidhRail === undefined) throw new Error('no such rail')
  const states = await loadRailStates(database.reader)
  const { figures } = stateOf(poidhRail, states.get('poidh'))
  expect(figures).toMatchObject({ tpv30dMicroUsdc: 6_000_000_000, uniqueCreators30d: 3 })

  const contracts = groupBy(node.ranges, ({ address }) => address)
  expect(contracts.size).toBe(3)
  for (const ranges of contracts.values()) {
    const inOrder = ranges.toSorted((a, b) => a.from - b.from)
    let next = head - windowBlocks
    for (const { from, to } of inOrder) {
      expect(from).toBe(next)
      next = to + 1
    }
    expect(next).toBeGreaterThan(head - 60)
  }
  for (const seen of percents.values()) {
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.length).toBeGreaterThan(90)
  }
  expect(texts[40]).toMatch(/^\d+ of 30 days read, about \d+ min left$/)
  expect(node.refused.tooMany).toBeGreaterThan(0)
  expect(node.refused.tooLarge).toBeLessThan(100)
})
