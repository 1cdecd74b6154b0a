/** `/docs/reputation`: what a receipt earns, by the constants that the ledger computes with. */
import {
  evidenceTenths,
  reputationDecayDays,
  valueMicroUsdc,
} from '../../../src/core/reputation.ts'
import { codeBlock, links, list, para, section } from '../blocks.ts'
import { amountText } from '../figures.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'

const evidence = [
  ['onchain', 'The payment was found on its chain.'],
  ['platform', 'A platform that the ledger knows has issued the receipt.'],
  ['exchange', 'The job exchange has: it sees work, and no payment.'],
  ['signed', 'The worker alone has signed it.'],
] as const satisfies readonly (readonly [keyof typeof evidenceTenths, string])[]

export function reputationGuide(): SitePage {
  return {
    path: '/docs/reputation',
    title: 'How reputation is computed',
    description:
      'What a verified receipt earns, how it fades, and how anyone can recompute a score from its entries.',
    nav: '/docs',
    body: [
      para(
        'Reputation is earned with receipts that the ledger could verify, and with nothing else: not by registering, not by claiming a spot, not by paying.',
        'lede',
      ),
      section(
        'formula',
        'The formula',
        codeBlock(
          `score  = sum over the entries of a wallet of amount * weight * exp(-age in days / ${reputationDecayDays})
weight = evidence * payer`,
          'text',
        ),
        table({
          id: 'evidence',
          caption: 'By what shows that the payment happened.',
          columns: [
            { label: 'Evidence', sortable: false },
            { label: 'Counts', kind: 'figure', sortable: false },
            { label: 'When', sortable: false, wide: true },
          ],
          rows: evidence.map(([kind, when]) => ({
            cells: [code(kind), (evidenceTenths[kind] / 10).toFixed(1), when],
          })),
          empty: '',
        }),
        list([
          inline`${code('payer')} is 1, 1/2, 1/3, … for the first, second, third, … verified receipt from one payer, and 0 where payer and worker are one wallet: many payers count for more than one.`,
          inline`${code('amount * weight')} is rounded down to millionths of a USDC when the entry is written. The age counts from the entry’s ${code('counts_from')}.`,
          `A score falls to 37 % in ${reputationDecayDays} days without new receipts. Equal scores: the earlier first receipt stands first.`,
        ]),
      ),
      section('example', 'An example', para(example(100, 2, 30))),
      section(
        'changes',
        'What changes it later',
        list([
          inline`Entries are never changed. Where better evidence is found, an ${code('adjustment')} adds the difference; where a payment turns out not to have happened, an entry with a negative ${code('delta')} ${link('/docs/receipts', 'takes back')} what was earned, aged like what it reverses.`,
          inline`${code('GET /api/v1/reputation/{wallet}')} answers the score with the entries that make it, for a partner or for payment. Folded in the order of ${code('seq')}, they give the same score to the last bit.`,
          inline`The first fifty wallets are at ${link('/leaderboard', 'the leaderboard')}, which is free and signed.`,
        ]),
      ),
      links([
        ['/api/v1/leaderboard', 'Leaderboard, JSON'],
        ['/docs/receipts', 'How a receipt is checked'],
        ['/docs/signing', 'How to send one in'],
      ]),
    ],
  }
}

function example(amountUsdc: number, payerRank: number, ageDays: number): string {
  const worth = valueMicroUsdc(amountUsdc * 1e6, evidenceTenths.onchain, payerRank) / 1e6
  const now = worth * Math.exp(-ageDays / reputationDecayDays)
  return `A receipt of ${amountText(amountUsdc)} USDC, found on its chain, the second from its payer, is worth ${amountText(worth)} on the day it counts from and ${amountText(now)} when it is ${ageDays} days old.`
}
