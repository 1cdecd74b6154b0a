import { describe, expect, test } from 'vitest'

import { belongings, matchRails } from '../../src/core/match-rails.ts'
import type { Wishes } from '../../src/core/match-rails.ts'

const plain = {
  status: 'paying',
  judged: true,
  chain: 'base',
  entry_cost_usdc: 0,
  entry_requirements: null,
  unknown_figures: [],
} as const
const quill = {
  ...plain,
  rail: 'quill',
  entry_requirements: ['Solana wallet', 'KYC for some payouts', 'one sample text'],
}
const patch = { ...plain, rail: 'patch', entry_requirements: ['EVM or Solana wallet'] }
const oracle = {
  ...plain,
  rail: 'oracle',
  chain: 'solana',
  entry_cost_usdc: 5,
  worker_usd_per_day_median: 2.5,
}
const relay = { ...plain, rail: 'relay', status: 'pre-traction' } as const
const fern = { ...relay, rail: 'fern', judged: false }
const old = { ...plain, rail: 'old', judged: false }
const other = { ...plain, rail: 'other' }
const skills = [
  {
    slug: 'translation',
    surface: ['quill', 'patch', 'oracle', 'relay', 'fern', 'old', 'not-listed'],
  },
  { slug: 'legal-document-translation', surface: ['other'] },
  { slug: 'web-scraping', surface: ['other'] },
]
const listed = {
  opportunities: [oracle, quill, patch, other],
  rails: [fern, old, oracle, other, patch, quill, relay],
  skills,
}
function matched(wishes: Wishes) {
  const { matches, leftOut } = matchRails(listed, wishes)
  return {
    rails: matches.map(({ entry }) => entry.rail),
    leftOut: Object.fromEntries(leftOut.map(({ rail, reason }) => [rail.rail, reason])),
    requirements: Object.fromEntries(
      matches.map(({ entry, requirements }) => [entry.rail, requirements]),
    ),
  }
}

describe('matchRails', () => {
  test('without wishes all paying rails match in their order, and the others have a reason', () => {
    const { rails, leftOut } = matched({})
    expect(rails).toEqual(['oracle', 'quill', 'patch', 'other'])
    expect(leftOut).toEqual({
      fern: { kind: 'status', text: 'The rail is not judged: too little is known.' },
      old: { kind: 'status', text: 'The audit that found it paying is too old.' },
      relay: { kind: 'status', text: 'Fewer than five creators with a budget.' },
    })
  })

  test('a rail is left out for its skills, its chain or its entry cost', () => {
    const { rails, leftOut } = matched({ skill: 'translation', maxEntryUsdc: 4.999999 })
    expect(rails).toEqual(['quill', 'patch'])
    expect(leftOut).toMatchObject({
      other: { kind: 'skill', text: 'It does not list this skill.' },
      oracle: {
        kind: 'entry',
        text: 'It costs 5 USDC to join. At the median income, that is earned back in 2 days.',
      },
    })
    expect(matched({ maxEntryUsdc: 5 }).rails).toContain('oracle')
    const onBase = matched({ chain: 'base', maxEntryUsdc: 0 })
    expect(onBase.leftOut['oracle']).toEqual({ kind: 'chain', text: 'It pays on solana.' })
    expect(matched({ skill: 'no-such-skill' }).rails).toEqual([])
  })

  test('an unknown median says nothing about earning the entry cost back', () => {
    const unknown = {
      ...oracle,
      worker_usd_per_day_median: 0,
      unknown_figures: ['worker_usd_per_day_median'] as const,
    }
    const { leftOut } = matchRails(
      { opportunities: [unknown], rails: [unknown], skills },
      { maxEntryUsdc: 0 },
    )
    expect(leftOut.map(({ reason }) => reason.text)).toEqual(['It costs 5 USDC to join.'])
  })

  test('what the agent lacks is missing, and rails that lack less come first', () => {
    const { rails, requirements } = matched({ skill: 'translation', chain: 'base', has: ['evm'] })
    expect(rails).toEqual(['patch', 'quill'])
    expect(requirements).toEqual({
      patch: [{ text: 'EVM or Solana wallet', met: true }],
      quill: [
        { text: 'Solana wallet', met: false },
        { text: 'KYC for some payouts', met: false },
        { text: 'one sample text', met: null },
      ],
    })
    expect(matched({ has: [] }).requirements['patch']).toEqual([
      { text: 'EVM or Solana wallet', met: false },
    ])
    expect(matched({}).requirements['patch']).toEqual([{ text: 'EVM or Solana wallet', met: null }])
  })

  test.each([
    ['Base wallet with gas', ['evm']],
    ['OP Mainnet wallet with ETH for gas', ['evm']],
    ['BNB Smart Chain wallet with BNB for gas', ['evm']],
    ['USDC on Base', []],
    ['verified email address, and a GitHub account with activity', ['github']],
    ['HTTPS endpoint that requests payment with HTTP 402', ['https']],
    ['human operator passes KYC to be paid', ['kyc']],
    ['NEAR account', []],
  ])('the requirement "%s" names %j', (text, expected) => {
    const named = Object.entries(belongings).filter(([, { pattern }]) => pattern.test(text))
    expect(named.map(([name]) => name)).toEqual(expected)
  })
})
