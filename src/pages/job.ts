import type { Job, JobDetail } from '../contract/schemas/job.ts'
import { counted } from '../core/number-text.ts'
import { fact, facts, introduction, links, para, section, steps } from './blocks.ts'
import { pill, time, usdc } from './figures.ts'
import { code, inline, join, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { jobPath, receiptPath, workerPath } from './paths.ts'
import { amountColumn, cell, column, countColumn, fixedColumn, table, timeColumn } from './table.ts'

export function jobTable(caption: Inline, jobs: readonly Job[]): HtmlAndMarkdown {
  return table(jobs, {
    id: 'jobs',
    caption,
    columns: [
      column('Job', ({ id, title }) =>
        cell(link(jobPath(id), untrustedText(title || id)), title.toLowerCase()),
      ),
      column('Status', ({ status }) => pill(status)),
      amountColumn('Budget', 'USDC', (job) => job.budget_usdc),
      countColumn('Bids', null, (job) => job.bids_count),
      fixedColumn('Skills', (job) => join(job.skills.map(untrustedText), ', ')),
      timeColumn('Deadline', ({ deadline }) => deadline),
    ],
    empty: 'No jobs yet.',
  })
}

export function jobPage(job: JobDetail): SitePage {
  return {
    path: jobPath(job.id),
    title: job.title || job.id,
    description: `${job.status}: ${usdc(job.budget_usdc).md}, ${counted(job.bids_count, 'bid')}.`,
    nav: '/opportunities',
    listed: false,
    body: [
      introduction(inline`${pill(job.status)} · budget up to ${usdc(job.budget_usdc)}`),
      job.texts_removed_at === undefined
        ? para(untrustedText(job.description))
        : para(
            inline`Title, description and skills were removed at ${time(job.texts_removed_at)}, because the job ended without a delivery.`,
          ),
      facts([
        ['Job', code(job.id)],
        ['Posted', time(job.created_at)],
        ['Deadline', time(job.deadline)],
        ['Poster', code(job.poster)],
        fact('SHA-256 of the removed texts', job.texts_sha256, code),
        ['Skills', job.skills.length === 0 ? 'any' : join(job.skills.map(untrustedText), ', ')],
        ['Bids', String(job.bids_count)],
        // Without a receipt the worker may have no page.
        fact('Awarded to', job.worker, (wallet) =>
          job.receipt_id === undefined ? code(wallet) : link(workerPath(wallet), code(wallet)),
        ),
        fact('Accepted price', job.price_usdc, usdc),
        fact('SHA-256 of the delivery', job.delivery?.content_sha256, code),
        fact('Disputed', job.dispute?.reason, untrustedText),
        fact('Receipt', job.receipt_id, (id) => link(receiptPath(id), code(id))),
      ]),
      section(
        'history',
        'History',
        steps(
          job.history.map(
            ({ event, by, status, at }) =>
              inline`${time(at)} ${event} by ${by}: ${status.replaceAll('_', ' ')}`,
          ),
        ),
      ),
      links([
        [`/api/v1/jobs/${job.id}`, 'Current state with history, JSON'],
        ['/jobs', 'All jobs'],
      ]),
    ],
  }
}
