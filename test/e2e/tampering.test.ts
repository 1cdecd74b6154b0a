/** An operator who has the keys forges evidence and computes figures that fit. `recompute` names what differs. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'

import { hourMs } from '../../src/core/time.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { createForger, json, problemsIn, recompute, text } from './forged-evidence.ts'
import type { Json, Put } from './forged-evidence.ts'
import { newLedger, useProgram, withHooks } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('polls every rail twice')

const program = useProgram()
let sources: RecordedSources
let ledger: Ledger
const { fileOf, forge, serve, edited, editLines, editLookUps } = createForger(() => ledger)

beforeAll(async () => {
  sources = await startRecordedSources()
  ledger = newLedger(program, {
    ...sources.env,
    ...withHooks(program, 'test/support/test-clock.ts'),
  })
  for (const nowMs of [firstPollMs, firstPollMs + 6 * hourMs]) {
    if (nowMs > firstPollMs) await sources.settle(nowMs)
    const running = ledger.builder(['--once'], { TEST_CLOCK_MS: String(nowMs) })
    if ((await running.ended) !== 0) throw new Error(running.output())
  }
})

afterAll(async () => {
  ledger.remove()
  await sources.stop()
})

/** Edits the aggregates as text. */
const aggregates = (bundle: Json, put: Put, edit: (body: string) => string): void => {
  bundle['buckets'] = edited(bundle['buckets'], put, edit)
}
const list = (bundle: Json, name: string, put: Put, edit: (body: string) => string): void => {
  const lists = json.parse(bundle['lists'])
  bundle['lists'] = { ...lists, [name]: edited(lists[name], put, edit) }
}
const inputsOf = (bundle: Json): Json[] => z.array(json).parse(bundle['inputs'])
const columns = (edit: (parts: string[]) => string[]) => (lines: string[]) =>
  lines.map((line) => edit(line.split(',')).join(','))
/** A row of a pair: payer, payee, number, units, micro-USDC, largest. */
const row = /("(?:0x\w{40})",)(\d+),"(\d+)",(\d+),(\d+)\]/g
const inPairs = (edit: (numbers: string[]) => string[]) => (body: string) =>
  body.replaceAll(row, (_, payee: string, ...numbers: string[]) => {
    const [count, units, micro, largest] = edit(numbers.slice(0, 4))
    return `${payee}${count},"${units}",${micro},${largest}]`
  })
const times = (factor: number, amount: string | undefined) => String(Number(amount) * factor)
const usdTimes10 = inPairs(([count, units, micro, largest]) => [
  count ?? '',
  units ?? '',
  times(10, micro),
  times(10, largest),
])
/** 24 days later. */
const hoursLater = (body: string) =>
  body.replaceAll(/"hour":(\d+)/g, (_, hour: string) => `"hour":${Number(hour) + 24 * 24}`)
/** In the aggregates and in the lines. */
const amountsTimes10 = (bundle: Json, put: Put) => {
  aggregates(bundle, put, usdTimes10)
  editLines(
    bundle,
    put,
    columns((parts) => parts.with(9, times(10, parts[9]))),
  )
}
const priceTimes10 = (bundle: Json, put: Put) => {
  const prices = z.array(json).parse(bundle['prices'])
  bundle['prices'] = prices.map((price) => ({ ...price, answer: times(10, text(price['answer'])) }))
  amountsTimes10(bundle, put)
}

/** USDC that one wallet sent to a payer of x402 on Base. */
const funding = '3000000'
const lookedUp = (bundle: Json, put: Put, edit: (body: string) => string) =>
  list(bundle, 'looked_up', put, edit)
/** In the lines, and in the transfers that follow from them. */
const fundingTimes10 = (bundle: Json, put: Put) => {
  lookedUp(bundle, put, (body) => body.replace(`"microUsdc":${funding}`, `"microUsdc":${funding}0`))
  editLookUps(bundle, put, (lines) => lines.map((line) => line.replaceAll(funding, `${funding}0`)))
}
const sourceIsHub = (bundle: Json, put: Put) => {
  const edit = (body: string) =>
    body.replaceAll(/"ageDays":0,"recipients":0/g, '"ageDays":91,"recipients":300')
  lookedUp(bundle, put, edit)
  list(bundle, 'wallet_tests', put, edit)
}

/** Declares the sources of funds contracts of the rail, which count as hubs. */
const sourcesAreContracts = (bundle: Json, put: Put) => {
  const sources: string[] = []
  lookedUp(bundle, put, (body) =>
    body.replaceAll(/"(0x\w{40})",\{"listedHub":false/g, (_, source: string) => {
      sources.push(source)
      return `"${source}",{"listedHub":true`
    }),
  )
  aggregates(bundle, put, (body) =>
    body.replace(/\{"kind":"logs"[^}]*\}/, (pointer) =>
      [pointer, ...sources.map((one) => pointer.replace(/0x\w{40}/, one))].join(','),
    ),
  )
}

type Tampering = readonly [
  what: string,
  rail: string,
  change: (bundle: Json, put: Put) => void,
  says: RegExp,
  options?: { readonly first?: true; readonly rpc?: true },
]

const tamperings: readonly Tampering[] = [
  [
    'amounts in USD × 10, token units kept',
    'x402',
    (bundle, put) => aggregates(bundle, put, usdTimes10),
    /BAD {3}aggregates of payments: published hour \d+: 0x\w+ 0x\w+: .* recomputed hour \d+/,
  ],
  [
    'amounts in USD × 10, also in the lines',
    'x402',
    amountsTimes10,
    /BAD {3}lines: \d+,\d+,0x\w+,.*: \d+ units are \d+ micro-USDC/,
    { first: true },
  ],
  [
    'the price of ETH × 10, with amounts that fit',
    'poidh',
    priceTimes10,
    /open {2}chain: the lines, prices and tests of wallets are not compared with the chain: use --rpc/,
    { first: true },
  ],
  [
    'the price of ETH × 10, with amounts that fit, compared with the node',
    'poidh',
    priceTimes10,
    /BAD {3}price at block \d+: published \d+, recomputed \d+/,
    { first: true, rpc: true },
  ],
  [
    'all payments moved by 24 days',
    'x402',
    (bundle, put) => aggregates(bundle, put, hoursLater),
    /BAD {3}aggregates of payments: published last payout \d+, recomputed hour \d+/,
  ],
  [
    'all payments moved, also in the lines, compared with the node',
    'poidh',
    (bundle, put) => {
      aggregates(bundle, put, (body) =>
        body.replaceAll(/"hour":(\d+)/g, (_, hour: string) => `"hour":${Number(hour) - 24}`),
      )
      editLines(
        bundle,
        put,
        columns((parts) => parts.with(8, times(1, String(Number(parts[8]) - 24 * hourMs)))),
      )
    },
    /BAD {3}times: logs of the blocks \d+ to \d+: published \d+,.*, recomputed \d+,/,
    { first: true, rpc: true },
  ],
  [
    'numbers of payments × 100',
    'x402',
    (bundle, put) =>
      aggregates(
        bundle,
        put,
        inPairs(([count, ...others]) => [times(100, count), ...others]),
      ),
    /BAD {3}aggregates of payments: published .*: \d+00 payments of/,
  ],
  [
    'a largest payment of 1',
    'x402',
    (bundle, put) =>
      aggregates(
        bundle,
        put,
        inPairs((numbers) => [...numbers.slice(0, 3), '1']),
      ),
    /BAD {3}aggregates of payments: published .* the largest 1, recomputed/,
  ],
  [
    'removed sums × 1000',
    'x402',
    (bundle, put) =>
      aggregates(bundle, put, (body) =>
        body.replaceAll(/("count":\d+,"microUsdc":\d+)/g, (sum) => `${sum}000`),
      ),
    /BAD {3}aggregates of payments: published hour \d+: removed \w+: \d+, \d+000 micro-USDC/,
  ],
  [
    'other hosts of sellers',
    'x402',
    (bundle, put) => {
      const edit = (body: string) =>
        body.replaceAll(/(\["0x\w{40}",)"[^"]+"\]/g, '$1"one.example"]')
      aggregates(bundle, put, edit)
      list(bundle, 'sellers', put, edit)
    },
    /BAD {3}list sellers: published "one.example", recomputed/,
  ],
  [
    'other hosts of sellers, also in the list of offers',
    'x402',
    (bundle, put) => {
      const edit = (body: string) =>
        body.replaceAll(
          /"(?:[a-z0-9-]+\.)+(?:com|ai|io|xyz|dev|net|org|example)"/g,
          '"one.example"',
        )
      aggregates(bundle, put, edit)
      list(bundle, 'sellers', put, edit)
      list(bundle, 'offers', put, edit)
    },
    /BAD {3}list offers: published/,
  ],
  [
    'a window that ends 12 days later',
    'poidh',
    (bundle) => {
      const window = z.object({ from: z.string(), to: z.string() }).parse(bundle['window'])
      const later = (at: string) => new Date(Date.parse(at) + 12 * 24 * hourMs).toISOString()
      bundle['window'] = { from: later(window.from), to: later(window.to) }
    },
    /BAD {3}poll: published \S+Z, recomputed \S+Z/,
  ],
  [
    'a former status',
    'near',
    (bundle) => {
      bundle['former'] = { status: 'paying', undecidedSinceMs: null }
    },
    /BAD {3}former status: published paying, undecided since null, recomputed /,
  ],
  [
    'another basis',
    'x402_bazaar',
    (bundle) => {
      bundle['basis'] = 'payments'
    },
    /BAD {3}rail: published activity, recomputed payments/,
  ],
  [
    'no look-ups',
    'x402',
    (bundle, put) => {
      const lists = json.parse(bundle['lists'])
      const none = {
        transfers: [],
        wallets: { $map: [] },
        lookedUp: { payers: { $set: [] }, payees: { $set: [] } },
      }
      bundle['lists'] = { ...lists, looked_up: put(none) }
    },
    /BAD {3}looked-up transfers: published nothing, recomputed day \d+: 0x\w+ 0x\w+: 1 transfers/,
  ],
  [
    'a looked-up amount × 10',
    'x402',
    (bundle, put) =>
      lookedUp(bundle, put, (body) =>
        body.replace(`"microUsdc":${funding}`, `"microUsdc":${funding}0`),
      ),
    /BAD {3}looked-up transfers: published .* of 30000000 micro-USDC, recomputed .* of 3000000 /,
  ],
  [
    'a looked-up amount × 10, also in the lines without the units',
    'x402',
    (bundle, put) =>
      editLookUps(bundle, put, (lines) =>
        lines.map((line) => line.replace(new RegExp(`${funding}$`), `${funding}0`)),
      ),
    /BAD {3}look-ups: \d+,\d+,0x\w+,.*,3000000,,look_up,\d+,30000000: does not follow from its/,
    { first: true },
  ],
  [
    'a looked-up amount × 10, also in the lines',
    'x402',
    fundingTimes10,
    /^open {2}chain: the lines, prices and tests of wallets are not compared with the chain: use --rpc$/,
    { first: true },
  ],
  [
    'a looked-up amount × 10, also in the lines, compared with the node',
    'x402',
    fundingTimes10,
    /BAD {3}look-ups of the blocks \d+ to \d+: published .*,30000000, recomputed .*,3000000$/m,
    { first: true, rpc: true },
  ],
  [
    'an invented look-up, compared with the node',
    'x402',
    (bundle, put) =>
      editLookUps(bundle, put, ([line = '', ...lines]) => {
        const invented = line
          .split(',')
          .with(1, '99')
          .with(3, `0x${'9'.repeat(40)}`)
        return [line, ...lines, invented.join(',')]
      }),
    /BAD {3}look-ups of the blocks \d+ to \d+: published \d+,99,0x\w+,0x9{40},/,
    { first: true, rpc: true },
  ],
  [
    'a look-up that was left out, compared with the node',
    'x402',
    (bundle, put) => {
      lookedUp(bundle, put, (body) =>
        body.replace(new RegExp(`\\{[^{}]*"microUsdc":${funding}\\},?`), ''),
      )
      editLookUps(bundle, put, (lines) => lines.filter((line) => !line.endsWith(`,${funding}`)))
    },
    /BAD {3}look-ups of the blocks \d+ to \d+: published .*, recomputed \d+,\d+,0x\w+,.*,3000000$/m,
    { first: true, rpc: true },
  ],
  [
    'a look-up in two readings',
    'x402',
    (bundle, put) => editLookUps(bundle, put, ([line = '', ...lines]) => [line, line, ...lines]),
    /BAD {3}look-ups: \d+,.*: two readings contain it/,
    { first: true },
  ],
  [
    'no readings of look-ups',
    'x402',
    (bundle) => {
      bundle['look_ups'] = null
    },
    /BAD {3}look-ups: the transfers of 0x\w+ were not all read/,
    { first: true },
  ],
  [
    'look-ups without lines',
    'x402',
    (bundle, put) => {
      const body = fileOf(`/evidence/${text(bundle['look_ups'])}.json`)
      bundle['look_ups'] = put(JSON.parse(body.replaceAll(/"rows":"\w+"/g, '"rows":null')))
    },
    /open {2}look-ups: taken as published: of 0 polls and \d+ readings?, the lines are not published/,
    { first: true },
  ],
  [
    'payers that do not count as looked up',
    'x402',
    (bundle, put) =>
      lookedUp(bundle, put, (body) =>
        body.replace(/"payers":\{"\$set":\[[^\]]*\]/, '"payers":{"$set":[]'),
      ),
    /BAD {3}look-ups: the transfers of 0x\w+ were read, but it does not count/,
    { first: true },
  ],
  [
    'a source of funds that is a hub, against its test',
    'x402',
    (bundle, put) =>
      lookedUp(bundle, put, (body) => body.replaceAll('"listedHub":false', '"listedHub":true')),
    /BAD {3}looked-up wallets: published "listedHub": true,?, recomputed "listedHub": false/,
  ],
  [
    'a source of funds that is a hub by a changed test',
    'x402',
    sourceIsHub,
    /^open {2}chain: the lines, prices and tests of wallets are not compared with the chain: use --rpc$/,
  ],
  [
    'a source of funds that is a hub by a changed test, compared with the node',
    'x402',
    sourceIsHub,
    /BAD {3}test of 0x\w+: published wallet of 91 days, 200 recipients, \d+ senders, recomputed wallet of 0 days, 0 /,
    { rpc: true },
  ],
  [
    'a source of funds that is declared a contract of the rail',
    'x402',
    sourcesAreContracts,
    /BAD {3}contracts: published 0x\w{40}, recomputed /,
  ],
  [
    'a payee that is left out of the wallets that were looked up',
    'x402',
    (bundle, put) =>
      lookedUp(bundle, put, (body) => body.replace(/("payees":\{"\$set":\[)"0x\w{40}",?/, '$1')),
    /open {2}look-ups: 1 of the largest payees wait or were left out, such as 0x\w{40}$/m,
    { first: true },
  ],
  [
    'look-ups that ended eleven hours ago',
    'x402',
    (bundle, put) => {
      const edit = (body: string) =>
        body.replaceAll(/"head":(\d+)/g, (_, head: string) => `"head":${Number(head) + 20_000}`)
      bundle['look_ups'] = edited(bundle['look_ups'], put, edit)
    },
    /open {2}look-ups: the transfers after \S+Z were not read/,
    { first: true },
  ],
  [
    'an invented payer, in a reading dated two days back',
    'poidh',
    (bundle, put) => {
      aggregates(bundle, put, (body) => body.replace(/\["0x\w{40}"/, `["0x${'9'.repeat(40)}"`))
      bundle['inputs'] = inputsOf(bundle).map((one) => ({
        ...one,
        at: new Date(firstPollMs - 42 * hourMs).toISOString(),
      }))
    },
    /BAD {3}aggregates of payments: published hour \d+: 0x9{40}/,
    { first: true },
  ],
  [
    'an invented payer, without lines',
    'poidh',
    (bundle, put) => {
      aggregates(bundle, put, (body) => body.replace(/\["0x\w{40}"/, `["0x${'9'.repeat(40)}"`))
      bundle['inputs'] = inputsOf(bundle).map((one) => ({ ...one, rows: null }))
    },
    /open {2}aggregates: the lines of \d+ readings are not published/,
  ],
  [
    'an invented payer, also in the lines, compared with the node',
    'poidh',
    (bundle, put) => {
      const other = `0x${'9'.repeat(40)}`
      editLines(
        bundle,
        put,
        columns((parts) => parts.with(3, other)),
      )
    },
    /BAD {3}logs of the blocks \d+ to \d+: published \d+,\d+,0x\w+,0x9{40},/,
    { first: true, rpc: true },
  ],
  [
    'rewards × 10',
    'superteam_earn',
    (bundle, put) =>
      aggregates(bundle, put, (body) => body.replaceAll(/"amount":(\d+)/g, '"amount":$10')),
    /BAD {3}reading: published "amount": \d+0,?, recomputed "amount": \d+/,
  ],
  [
    'invented sponsors',
    'superteam_earn',
    (bundle, put) =>
      aggregates(bundle, put, (body) => body.replace(/"sponsor":"[^"]*"/, '"sponsor":"nobody"')),
    /BAD {3}reading: published "sponsor": "nobody",?, recomputed "sponsor":/,
  ],
  [
    'amounts on Solana × 10',
    'x402_solana',
    (bundle, put) =>
      aggregates(bundle, put, (body) =>
        body.replaceAll(/,"(\d+)",(\d+),(\d+)\]/g, ',"$10",$20,$30]'),
      ),
    /BAD {3}aggregates of usdc: published hour \d+/,
  ],
  [
    'a reading that was left out',
    'poidh',
    (bundle) => {
      bundle['inputs'] = []
      bundle['previous'] = null
    },
    /BAD {3}aggregates of payments: published hour \d+: .*, recomputed last payout null/,
  ],
  [
    'no poll before this one',
    'near',
    (bundle) => {
      bundle['previous'] = null
    },
    /BAD {3}former status: published .*, recomputed never judged/,
  ],
  [
    'blocks that were left out between two polls',
    'poidh',
    (bundle) => {
      bundle['inputs'] = inputsOf(bundle).map((one) => {
        const { number } = z.object({ number: z.int() }).parse(one['from'])
        const { number: to } = z.object({ number: z.int() }).parse(one['to'])
        return { ...one, from: { number: Math.min(to, number + 40), hash: null } }
      })
    },
    /BAD {3}blocks: \d+ to \d+ were not read/,
  ],
  [
    'blocks that were left out at the end, compared with the node',
    'erc8004_base',
    (bundle) => {
      bundle['inputs'] = inputsOf(bundle).map((one) => ({ ...one, to: { number: 1, hash: null } }))
    },
    /BAD {3}window: the blocks \d+ to \d+ of \S+ were read; it begins with block \d+/,
    { first: true, rpc: true },
  ],
  [
    'other sellers for the reading than for the poll',
    'x402',
    (bundle, put) => {
      bundle['inputs'] = inputsOf(bundle).map((one) =>
        one['lists'] === undefined
          ? one
          : { ...one, lists: { ...json.parse(one['lists']), sellers: put({ $map: [] }) } },
      )
    },
    /BAD {3}list sellers of the reading at \S+: differs from the one of its poll/,
  ],
  [
    'an invented key in the memory',
    'virtuals_acp',
    (bundle, put) => {
      const memory = put([`1 0x${'9'.repeat(40)}`])
      const withMemory = (lists: unknown) => ({ ...json.parse(lists), memory })
      bundle['lists'] = withMemory(bundle['lists'])
      bundle['inputs'] = inputsOf(bundle).map((one) => ({
        ...one,
        lists: withMemory(one['lists']),
      }))
    },
    /BAD {3}list memory: no reading remembered "1 0x9{40}"/,
  ],
  [
    'no list of looked-up transfers',
    'x402',
    (bundle) => {
      const { looked_up: _, ...lists } = json.parse(bundle['lists'])
      bundle['lists'] = lists
    },
    /BAD {3}look-ups: the poll has no list of them/,
  ],
  [
    'a lower total of the poll before',
    'taskmarket',
    (bundle, put) => aggregates(bundle, put, (body) => body.replace(/"paid":(\d+)/, '"paid":9$1')),
    /BAD {3}reading: published "paid": 9\d+,?, recomputed "paid": \d+/,
  ],
  [
    'another answer, kept under its own hash',
    'near',
    (bundle, put) => {
      bundle['inputs'] = inputsOf(bundle).map((one) => ({
        ...one,
        sha256: put([]),
        kept_until: '2027-01-01T00:00:00.000Z',
      }))
    },
    /BAD {3}reading: published|malformed|answer/,
  ],
]

const cases = tamperings.map(([what, ...tampering]) => [what, tampering] as const)
it.each(cases)('recompute notices %s', async (_what, [rail, change, says, options]) => {
  const { first = false, rpc = false } = options ?? {}
  const site = await serve(forge(rail, change, { refits: true, first }))
  const args = [
    ...(first ? ['--at', new Date(firstPollMs).toISOString()] : []),
    ...(rpc ? ['--rpc', sources.env['RPC_URL_BASE'] ?? '', '--all'] : []),
  ]
  const { code, out, err } = await recompute(site, rail, ...args)
  expect(`${err}${problemsIn(out)}`).toMatch(says)
  expect(code).toBe(1)
})

it('recompute notices that a flag of the newest poll is not among the open flags', async () => {
  const shape = z.looseObject({ flags: z.array(z.looseObject({ rail: z.string() })) })
  const list = shape.parse(JSON.parse(fileOf('/api/v1/honesty/flags')))
  const others = list.flags.filter(({ rail }) => rail !== 'erc8004_base')
  const shortened = { ...list, count: others.length, flags: others }
  const site = await serve(new Map([['/api/v1/honesty/flags', JSON.stringify(shortened)]]))
  const { out } = await recompute(site, 'erc8004_base')
  expect(problemsIn(out)).toMatch(/BAD {3}flags: published nothing, recomputed concentrated/)
})

it('recompute notices that the history contains a poll that the evidence leaves out', async () => {
  const forged = forge('poidh', (bundle) => {
    bundle['previous'] = null
    bundle['former'] = null
  })
  const { out } = await recompute(await serve(forged), 'poidh')
  expect(problemsIn(out)).toMatch(
    /BAD {3}previous: the poll at \S+ names null, expected [0-9a-f]{64}/,
  )
})
