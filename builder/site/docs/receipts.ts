/** The guide to receipts: what one earns, and how its chain is asked. Figures come from the code that checks. */
import { reputationFormula } from '../../../src/core/reputation.ts'
import { hourMs } from '../../../src/core/time.ts'
import { chains, evmChains } from '../../chain/chains.ts'
import { missedAtLeast, missingMs, windowMs } from '../../chain/receipt-verdict.ts'
import type { World } from '../../world/world.ts'
import { codeBlock, list, para, section, steps } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { receiptChecksPath } from '../receipt-checks.ts'
import { table } from '../table.ts'

const windowHours = windowMs / hourMs
const missingHours = missingMs / hourMs

export function receiptsGuide({ site }: World): SitePage {
  return {
    path: '/docs/receipts',
    title: 'How a receipt is checked',
    description:
      'Every hour the chain of a receipt is asked whether its transfer happened. What is looked at, in which order, and what each verdict means.',
    nav: '/docs',
    body: [
      para(
        inline`A receipt with a ${code('tx_hash')} on a chain below is checked against that chain every hour until it is final. Everybody can repeat the check: the verdict comes with block, block hash and the place of the transfer.`,
        'lede',
      ),
      section(
        'order',
        'What is looked at, in this order',
        steps([
          inline`The node is of the chain that the receipt names, and has a receipt of this very transaction. Where it has none, the transaction is ${code('pending')} or ${code('not_found')}.`,
          inline`The transaction succeeded, else the receipt is refused as ${code('reverted')}.`,
          inline`The block of that number has the block hash that the transaction’s receipt names.`,
          inline`The time of the block lies within ${String(windowHours)} hours of ${code('occurred_at')}, before or after.`,
          inline`A ${code('Transfer')} of the token below, and of no other contract, goes to ${code('to_wallet')}, from ${code('from_wallet')} where one is stated, and moves at least ${code('amount_usdc')}. Who sent the transaction, and to which contract, does not matter. Where no payer is stated, the transfer names it; one from the worker to itself shows no payment.`,
          inline`The transfer backs no other receipt: one transfer, one receipt, the first that was accepted. Where several would do, the smallest is taken.`,
          inline`How settled the block is by the chain’s own heads: ${code('soft')}, ${code('safe')}, ${code('final')}.`,
        ]),
      ),
      section(
        'chains',
        'Chains and tokens',
        table({
          id: 'tokens',
          caption:
            'A chain is checked where the operator has set a node for it; elsewhere its receipts wait. Receipts on other chains stay pending.',
          columns: [{ label: 'Chain' }, { label: 'Chain id', kind: 'figure' }, { label: 'USDC' }],
          rows: evmChains.map((name) => ({
            cells: [name, String(chains[name].chainId), code(chains[name].usdc.address)],
          })),
          empty: 'None.',
        }),
      ),
      section(
        'verdicts',
        'Verdicts',
        list([
          inline`${code('final')}: verified. Only now does the evidence of the chain count: a receipt of a worker earns in full, one that a platform has issued is raised to the full amount. It is looked at once more a day later.`,
          inline`${code('safe')}: provisional. Shown as such, and earning nothing yet. ${code('soft')}: in a block that may still be reorganised. Both are looked at again every hour.`,
          inline`${code('pending')} and ${code('not_found')}: looked at again every hour; unknown for ${String(missingHours)} hours and at least ${String(missedAtLeast)} runs, the receipt is refused.`,
          inline`${code('reverted')} and ${code('mismatch')}: refused at once, with the reason, and for good once the block is final: one that was reorganised away takes its refusal with it. What a platform’s word had earned is taken back.`,
          inline`A node that is out of reach, behind, of another chain, or whose answers do not fit together changes no verdict.`,
          inline`Where another block stands in the place of the one that was seen, the chain was reorganised: what the receipt had earned is taken back by an entry of the ledger, its transfer is free again, and a ${link('/honesty', 'flag')} says so. It is looked at further, earns again once its transaction is final in another block, and the flag is closed.`,
        ]),
      ),
      section('earns', 'What it earns', para(reputationFormula)),
      section(
        'see',
        'See for yourself',
        codeBlock(
          `curl -sS ${site.url}/api/v1/receipts/rcp_…\ncurl -sS ${site.url}${receiptChecksPath}`,
          'sh',
        ),
        para(
          inline`${code('onchain')} of a receipt has the verdict, its reason, ${code('block_number')}, ${code('block_hash')}, ${code('block_at')}, ${code('log_index')} and since when it is so; ${code('rep_delta')} what it has earned up to now. The last run by chain is on ${link('/status', 'the status page')}.`,
        ),
      ),
    ],
  }
}
