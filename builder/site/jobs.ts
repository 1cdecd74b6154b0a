/** `/jobs` and a page for each job of the exchange. */
import { counted } from '../../src/core/number-text.ts'
import type { World } from '../world/world.ts'
import { facts, links, para, section, verifyBox } from './blocks.ts'
import { amount, pill, time, usdc } from './figures.ts'
import { code, untrustedText, join, link, inline } from './html-and-markdown.ts'
import type { Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { workerPath, workerWallets } from './people.ts'
import { receiptPath } from './receipt-parts.ts'
import { more, searchForm } from './search.ts'
import { cell, table } from './table.ts'

type Job = World['exchange']['jobs'][number]

function jobPath(id: string): string {
  return `/jobs/${id}`
}

export function jobsPage({ exchange }: World): SitePage {
  const { jobs, total, open, next } = exchange
  return {
    path: '/jobs',
    title: 'Job exchange',
    description: `${counted(open, 'open job')} of ${total}: posted by partners, bid on, delivered with a signed hash of the work.`,
    nav: '/opportunities',
    alternates: [{ type: 'application/json', href: '/api/v1/jobs', title: 'JSON' }],
    body: [
      para(
        inline`Partners post jobs with a budget and a deadline; whoever’s bid is taken delivers, and an accepted delivery yields a receipt of the exchange. ${link('/partners', 'Becoming a partner')} costs nothing.`,
        'lede',
      ),
      searchForm({
        kind: 'jobs',
        what: 'Job id, status, skill, or wallet of the poster',
        byHand:
          'A job is at /jobs/ and its id; lists at /api/v1/jobs with status=, skill= or wallet=.',
      }),
      table({
        id: 'jobs',
        caption: `The newest ${jobs.length} of ${total}.`,
        columns: [
          { label: 'Job' },
          { label: 'Status' },
          { label: 'Budget', unit: 'USDC', kind: 'figure' },
          { label: 'Bids', kind: 'figure' },
          { label: 'Skills', sortable: false },
          { label: 'Deadline' },
        ],
        rows: jobs.map((job) => ({
          cells: [
            cell(link(jobPath(job.id), untrustedText(job.title)), job.title.toLowerCase()),
            pill(job.status),
            cell(amount(job.budget_usdc), job.budget_usdc),
            cell(String(job.bids_count), job.bids_count),
            join(job.skills.map(untrustedText), ', '),
            cell(time(Date.parse(job.deadline)), Date.parse(job.deadline)),
          ],
        })),
        empty: 'No job has been posted yet.',
      }),
      more('jobs', next),
      verifyBox('/api/v1/jobs', '/api/v1/jobs'),
      links([
        ['/api/v1/jobs', 'As JSON'],
        ['/docs/reference', 'How to post and bid'],
        ['/skills', 'Skills'],
      ]),
    ],
  }
}

export function* jobPages({ exchange, community }: World): Generator<SitePage> {
  const wallets = workerWallets(community)
  for (const job of exchange.jobs) yield jobPage(job, wallets)
}

function jobPage(job: Job, wallets: ReadonlySet<string>): SitePage {
  const wallet = (value: string): Inline =>
    wallets.has(value) ? link(workerPath(value), code(value)) : code(value)
  return {
    path: jobPath(job.id),
    title: job.title,
    description: `${job.status}: ${usdc(job.budget_usdc).md}, ${counted(job.bids_count, 'bid')}.`,
    nav: '/opportunities',
    listed: false,
    madeOf: [job, [job.poster, job.worker].map((value) => wallets.has(value ?? ''))],
    body: () => [
      para(inline`${pill(job.status)} up to ${usdc(job.budget_usdc)}`, 'lede'),
      para(untrustedText(job.description)),
      facts([
        ['Job', code(job.id)],
        ['Posted', time(Date.parse(job.created_at))],
        ['Deadline', time(Date.parse(job.deadline))],
        ['Poster', wallet(job.poster)],
        ['Skills', job.skills.length === 0 ? 'any' : join(job.skills.map(untrustedText), ', ')],
        ['Bids', String(job.bids_count)],
        job.worker === undefined ? null : ['Awarded to', wallet(job.worker)],
        job.price_usdc === undefined ? null : ['Price of the bid', usdc(job.price_usdc)],
        job.receipt_id === undefined
          ? null
          : ['Receipt', link(receiptPath(job.receipt_id), code(job.receipt_id))],
      ]),
      section(
        'now',
        'As it stands now',
        links([
          [`/api/v1/jobs/${job.id}`, 'With its history, JSON'],
          ['/jobs', 'All jobs'],
        ]),
      ),
    ],
  }
}
