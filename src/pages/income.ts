/** What the receipts of a worker state, by month and by evidence. */
import type { Receipt } from '../contract/schemas/receipt.ts'
import { folded, stacked } from './blocks.ts'
import { evidenceOf } from './evidence.ts'
import type { Evidence } from './evidence.ts'
import { amountText, shortAmount } from './figures.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import { column, figureColumn, table } from './table.ts'

export interface Income {
  readonly onChain: number
  readonly attested: number
  /** Claimed by the worker, or agreed on the job exchange. */
  readonly claimed: number
  readonly total: number
  /** Number of rejected or reversed receipts, which are in no sum. */
  readonly contradicted: number
  /** Sums by payer, without those that only the worker or the seller names. */
  readonly customers: ReadonlyMap<string, number>
  readonly ofCustomers: number
}

const kinds = [
  ['onChain', 'proven on chain'],
  ['attested', 'attested by platforms'],
  ['claimed', 'only claimed or agreed'],
] as const

export function incomeOf(receipts: readonly Receipt[]): Income {
  const sums = { onChain: 0, attested: 0, claimed: 0 }
  let contradicted = 0
  const customers = new Map<string, number>()
  for (const receipt of receipts) {
    const { from_wallet: from, amount_usdc: sum } = receipt
    const evidence = evidenceOf(receipt)
    if (evidence === 'reversed' || evidence === 'rejected') {
      contradicted += 1
      continue
    }
    const isNamed = evidence === 'on chain' || evidence === 'attested' || evidence === 'agreed'
    if (from !== undefined && isNamed) customers.set(from, (customers.get(from) ?? 0) + sum)
    if (evidence === 'on chain') sums.onChain += sum
    else if (evidence === 'attested') sums.attested += sum
    else sums.claimed += sum
  }
  const total = sums.onChain + sums.attested + sums.claimed
  const ofCustomers = [...customers.values()].reduce((all, one) => all + one, 0)
  return { ...sums, total, contradicted, customers, ofCustomers }
}

/** Of an agreement on the job exchange and receipts that name its job: payments that others show, otherwise the agreement. */
export function oncePerJob(receipts: readonly Receipt[]): readonly Receipt[] {
  const jobsOf = (...shown: readonly Evidence[]) => {
    const found = receipts.filter((one) => shown.includes(evidenceOf(one)))
    return new Set(found.flatMap(({ job_id: job }) => job ?? []))
  }
  const [paid, agreed] = [jobsOf('on chain', 'attested'), jobsOf('agreed')]
  return receipts.filter((one) => {
    const { job_id: job = '' } = one
    const evidence = evidenceOf(one)
    if (evidence === 'agreed') return !paid.has(job)
    return !['claimed', 'signed by the seller'].includes(evidence) || !agreed.has(job)
  })
}

const shownMonths = 8
const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
const height = 150

/** Bars of the last months, those without a receipt included; null without any amount. */
export function incomeChart(receipts: readonly Receipt[], all: Income): HtmlAndMarkdown | null {
  if (all.total === 0) return null
  const months = lastMonths(receipts).map((month) => {
    const ofMonth = receipts.filter(({ occurred_at: at }) => at.startsWith(month))
    return { month, income: incomeOf(ofMonth) }
  })
  const most = Math.max(...months.map(({ income }) => income.total))
  const step = 100 / months.length
  const bars = months.map(({ income }, index) => {
    let y = height
    const x = `${(index * step + step * 0.15).toFixed(2)}%`
    const parts = kinds.map(([kind]) => {
      const size = most === 0 ? 0 : (income[kind] / most) * (height - 20)
      y -= size
      return size === 0
        ? null
        : html`<rect
            class="${kind}"
            x="${x}"
            y="${y.toFixed(1)}"
            width="${(step * 0.7).toFixed(2)}%"
            height="${size.toFixed(1)}"
          />`
    })
    const { total } = income
    const label = html`<text x="${((index + 0.5) * step).toFixed(2)}%" y="${(y - 6).toFixed(1)}"
      >${total === 0 ? '0' : shortAmount(total)}</text
    >`
    return html`${parts}${label}`
  })
  const spoken = months.map(({ month, income }) => `${month} ${amountText(income.total)}`)
  const first = months[0]?.month ?? ''
  const older = incomeOf(receipts.filter(({ occurred_at: at }) => at < first)).total
  const before = older === 0 ? '' : `, and ${amountText(older)} before ${first}`
  const caption = `USDC a month, ${first} to ${months.at(-1)?.month}${before}, as the receipts date them. An attested payment is the word of a platform, a claimed one that of the worker; neither shows that money moved.`
  const chart = {
    html: html`<figure class="income">
      <ul class="legend">
        ${kinds.map(
          ([kind, label]) =>
            html`<li>
              <span
                ><svg width="14" height="12" aria-hidden="true">
                  <rect class="${kind}" x="1" y="1" width="12" height="10" /></svg
                >${label} ${amountText(all[kind])}</span
              >
            </li>`,
        )}
      </ul>
      <svg
        class="columns"
        width="100%"
        height="${height + 1}"
        role="img"
        aria-label="USDC a month: ${spoken.join(', ')}"
      >
        <line x2="100%" y1="${height}" y2="${height}" />
        ${bars}
      </svg>
      <p class="months" aria-hidden="true">
        ${months.map(({ month }) => html`<span>${monthNames[Number(month.slice(5)) - 1]}</span> `)}
      </p>
      <figcaption>${caption}</figcaption>
    </figure>`,
    md: [
      ...kinds.map(([kind, label]) => `- ${label}: ${amountText(all[kind])} USDC`),
      '',
      caption,
    ].join('\n'),
  }
  const byMonth = table(months, {
    id: 'income-table',
    caption: `USDC by month and evidence${before}.`,
    sortable: false,
    columns: [
      column('Month', ({ month }) => month),
      ...kinds.map(([kind, label]) =>
        figureColumn(label, null, (row: (typeof months)[number]) => amountText(row.income[kind])),
      ),
    ],
  })
  return stacked([chart, folded('The same as a table', byMonth)])
}

/** Such as `2026-11`, oldest first. */
function lastMonths(receipts: readonly Receipt[]): readonly string[] {
  const dated = receipts.map(({ occurred_at: at }) => at.slice(0, 7)).toSorted()
  const [first = '', last = ''] = [dated[0], dated.at(-1)]
  return Array.from({ length: shownMonths }, (_, back) => monthBefore(last, back))
    .filter((month) => month >= first)
    .toReversed()
}

function monthBefore(month: string, back: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 - back)).toISOString().slice(0, 7)
}
