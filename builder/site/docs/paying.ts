/** `/docs/paying`: from the answer 402 to what was asked for, and how subscriptions are paid. */
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { PAYMENT_TIMEOUT_SECONDS, paymentAsset } from '../../../src/contract/x402.ts'
import { GRACE_MS, PATIENCE_MS, PERIOD_MS } from '../../../src/core/partner.ts'
import { MOST_PERIODS } from '../../../src/core/subscription-price.ts'
import { dayMs } from '../../../src/core/time.ts'
import type { World } from '../../world/world.ts'
import { codeBlock, facts, links, list, notice, para, section, steps } from '../blocks.ts'
import { code, join, link, inline } from '../html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { cell, table } from '../table.ts'

export function payingPage(world: World): SitePage {
  const { site } = world
  const { settlement, receiver } = site.payments
  const payable = settlement !== 'off' && receiver !== null
  return {
    path: '/docs/paying',
    title: 'Pay for a read or a subscription',
    description:
      'Four reads are sold per request in USDC on Base by x402, versions 1 and 2; tiers are paid the same way. From 402 to the answer, and what happens when something goes wrong.',
    nav: '/docs',
    alternates: [{ type: 'application/json', href: '/.well-known/x402', title: 'Offers as JSON' }],
    body: [
      para(
        'No account and no key of ours is needed: a wallet signs one transfer of USDC, the ledger settles it and answers. The payer needs no ETH.',
        'lede',
      ),
      payable
        ? facts([
            ['Paid to', code(receiver)],
            [
              'Network',
              inline`Base, ${code(paymentAsset.network.v2)} (version 1: ${code(paymentAsset.network.v1)})`,
            ],
            ['Asset', inline`USDC, ${code(paymentAsset.address)}`],
            ['Scheme', inline`${code('exact')}: an EIP-3009 authorization for exactly the price`],
          ])
        : notice(
            'Payment is off here',
            'This installation takes no payments at the moment: 402 answers name the prices and offer no way to pay. Partners read what their tier covers.',
          ),
      section('prices', 'What is sold', soldTable(world)),
      section('curl', 'By hand', ...byHand(site.url)),
      section('client', 'With an x402 client', ...withClient(site.url)),
      section('wrong', 'When something goes wrong', ...whenWrong()),
      section('subscription', 'Subscriptions', ...subscription(site.url)),
      links([
        ['/partners', 'Tiers and prices'],
        ['/.well-known/x402', 'Offers as JSON'],
        ['/docs/errors#payment_required', 'Error codes of payments'],
        ['/docs/signing#partner', 'How partners sign'],
      ]),
    ],
  }
}

/** The sold reads with their prices and the tiers that include them. */
export function soldTable({ tiers }: Pick<World, 'tiers'>): HtmlAndMarkdown {
  const all: readonly Route[] = routes
  return table({
    id: 'sold',
    caption: 'Prices in USDC for one answer.',
    columns: [
      { label: 'Read', sortable: false },
      { label: 'Price', unit: 'USDC', kind: 'figure' },
      { label: 'Included in', sortable: false },
    ],
    rows: all.flatMap((route) =>
      route.price === undefined
        ? []
        : [
            {
              cells: [
                link(`/docs/reference#${route.id}`, code(`${route.method} ${route.path}`)),
                cell(route.price, Number(route.price)),
                join(
                  tiers
                    .filter(({ covers }) => covers.some((read) => route.path.endsWith(read)))
                    .map(({ name }) => name),
                  ', ',
                ),
              ],
            },
          ],
    ),
    empty: 'Nothing is sold.',
  })
}

function byHand(url: string): readonly HtmlAndMarkdown[] {
  const feed = `${url}/api/v1/alerts/feed`
  return [
    steps([
      inline`Ask. The answer is 402: ${code('X-Payment-Price-USDC')} and ${code('X-Payment-Receiver')} for people, ${code('accepts')} in the body for x402 version 1, the header ${code('PAYMENT-REQUIRED')} (base64 of JSON) for version 2.`,
      inline`Sign ${code('TransferWithAuthorization')} as EIP-712 for those terms: domain from ${code('extra')}, chain ${code(String(paymentAsset.chainId))}, ${code('to')} the receiver, ${code('value')} the amount, ${code('validBefore')} at most ${String(PAYMENT_TIMEOUT_SECONDS)} seconds ahead by convention (an hour at most), a random ${code('nonce')}.`,
      inline`Send the request again with the payment in ${code('PAYMENT-SIGNATURE')} (version 2) or ${code('X-PAYMENT')} (version 1); either version is taken in either header.`,
      inline`The answer comes with ${code('PAYMENT-RESPONSE')} and ${code('X-PAYMENT-RESPONSE')}: how it was settled, with the transaction.`,
    ]),
    codeBlock(
      `curl -sS -D - ${feed}
# 402; PAYMENT-REQUIRED: eyJ4NDAyVmVyc2lvbiI6Mi…

# version 2: base64 of {"x402Version":2,"accepted":<the entry of accepts>,"payload":{"signature":"0x…","authorization":{…}}}
curl -sS ${feed} -H "PAYMENT-SIGNATURE: $(base64 -w0 payment.json)"

# version 1: base64 of {"x402Version":1,"scheme":"exact","network":"base","payload":{"signature":"0x…","authorization":{…}}}
curl -sS ${feed} -H "X-PAYMENT: $(base64 -w0 payment.json)"`,
      'sh',
    ),
  ]
}

function withClient(url: string): readonly HtmlAndMarkdown[] {
  return [
    codeBlock(
      `// npm install @x402/fetch @x402/evm viem
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const signer = privateKeyToAccount(process.env.PAYER_KEY)
const pay = wrapFetchWithPayment(fetch, registerExactEvmScheme(new x402Client(), { signer }))
const answer = await pay('${url}/api/v1/alerts/feed')
console.log(await answer.json(), answer.headers.get('payment-response'))`,
      'js',
    ),
    para(
      inline`Clients of version 1 (${code('x402-fetch')}, ${code('x402-axios')}) work unchanged as well. The command line shows the price and takes a signed payment with ${code('--payment-file')}.`,
    ),
  ]
}

function whenWrong(): readonly HtmlAndMarkdown[] {
  return [
    list([
      inline`The answer is made before the payment is taken and sent after it has settled: a request that fails charges nobody. ${link('/docs/errors', 'Every error of a payment')} says whether anything was charged.`,
      inline`503 ${link('/docs/errors#settlement_pending', code('settlement_pending'))} means: on its way. Send the same request with the same payment after ${code('Retry-After')}; do not sign another one. It is delivered once it is mined, also after a restart.`,
      inline`402 with another code than ${code('payment_required')} means that this payment buys nothing, or nothing more; ${code('details')} says why, and the terms are there again.`,
      'One authorization buys one answer. Sent again after it was delivered, it is refused.',
      'If a stranger brings your authorization to the chain first, it is still honoured, once, also when you come late.',
      'There are no refunds: an answer that was delivered is paid for, and what is not delivered is not charged.',
      'Reads that are paid for count against the same limits as others. What costs more than your client allows is your client’s to refuse.',
    ]),
  ]
}

function subscription(url: string): readonly HtmlAndMarkdown[] {
  const [period, grace, patience] = [PERIOD_MS, GRACE_MS, PATIENCE_MS].map((ms) => ms / dayMs)
  return [
    codeBlock(
      `curl -sS ${url}/api/v1/partners/subscription -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $WALLET:$SIGNATURE" -H "X-Partner-Timestamp: $TIMESTAMP" -d '{"tier":"pro"}'
# 402 with the price; the same request with PAYMENT-SIGNATURE or X-PAYMENT begins the tier`,
      'sh',
    ),
    list([
      `A payment buys ${period} days. Nothing is ever collected by itself: who does not pay again is past due for ${grace} days, in which reads go on and writes do not, and then cancelled. A signup waits ${patience} days for its first payment.`,
      'Any wallet may pay. The credentials of the request say whose subscription it is, so a payment is as good as cash: whoever presents the signed authorization first has used it.',
      'The same tier, paid ahead, begins when the paid time ends; paid in the days of grace, it goes on from there.',
      'A higher tier begins at once. What was paid for lower tiers and is not used counts against its price: time in whole hours rounded up, money in micro-USDC rounded up, both for you. Where that is worth more than the price, nothing is due and the time is longer. What the operator gave counts for nothing.',
      'A lower tier begins when the paid time of the higher one ends.',
      inline`${code('{"tier":"free"}')} costs nothing and begins when the paid time ends.`,
      inline`${code('DELETE')} on the same path cancels: what is paid for stays until its end, no grace follows.`,
      `At most ${MOST_PERIODS} periods are paid for at once. Two payments at the same time are two periods; a repeat of one payment is answered as before and buys nothing.`,
      'The price of an upgrade rises from hour to hour, as less of the old tier is unused. One that you were told holds for ten minutes more.',
      inline`${code('@x402/fetch')} refuses more than one dollar for a payment unless told: ${code("x402Client.fromConfig({ schemes, spendControls: { maxAmountPerPayment: '$99' } })")}.`,
    ]),
  ]
}
