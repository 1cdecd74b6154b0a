import type { Job, JobDetail } from '../contract/schemas/job.ts'
import { capitalized, counted } from '../core/number-text.ts'
import { fact, facts, glance, links, para, section, standing, steps, verdict } from './blocks.ts'
import { day, hash, pill, shortAmount, sub, time, usdc } from './figures.ts'
import { code, inline, join, link, noContent, strong, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { walletText, workerText } from './names.ts'
import type { Names } from './names.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { jobPath, receiptPath } from './paths.ts'
import { cell, column, countColumn, figureColumn, table, dayColumn } from './table.ts'

export function jobTable(caption: Inline, jobs: readonly Job[]): HtmlAndMarkdown {
  return table(jobs, {
    id: 'jobs',
    caption,
    columns: [
      column('Job', ({ id, title, skills }) => {
        const wanted = skills.length === 0 ? noContent : sub(join(skills.map(untrustedText), ', '))
        const shown = inline`${link(jobPath(id), untrustedText(title || id))} ${wanted}`
        return cell(shown, title.toLowerCase())
      }),
      column('Status', ({ status }) => pill(status)),
      figureColumn('Budget', 'USDC', ({ budget_usdc: sum }) => cell(shortAmount(sum), sum)),
      countColumn('Bids', null, (job) => job.bids_count),
      dayColumn('Deadline', ({ deadline }) => deadline),
    ],
    empty: 'No jobs yet.',
  })
}

/** What happened, and who decides next until when. */
function verdictOf(job: JobDetail): Inline {
  const { bids_count: bids, budget_usdc: budget, dispute } = job
  const price = usdc(job.price_usdc ?? budget)
  const verdicts: Readonly<Record<Job['status'], Inline>> = {
    open: inline`${counted(bids, 'bid')} for at most ${usdc(budget)}. Partners may bid until ${day(job.deadline)}, and the poster chooses.`,
    awarded: inline`Awarded for ${price}. The worker must deliver before ${day(job.deadline)}, or the job expires.`,
    delivered: inline`Delivered for ${price}. The poster accepts or disputes it${job.answer_due === undefined ? null : inline` by ${day(job.answer_due)}; otherwise it counts as accepted`}.`,
    accepted: inline`Accepted for ${price}. The receipt says so; it does not show that money moved.`,
    disputed: inline`Delivered for ${price}, and disputed by the ${dispute?.by ?? 'poster'}. The poster may still accept it; no time limit decides.`,
    cancelled: 'Cancelled by the poster before a delivery.',
    expired: 'The deadline passed without a delivery.',
  }
  return verdicts[job.status]
}

export function jobPage(job: JobDetail, names: Pick<Names, 'wallets'>): SitePage {
  return {
    path: jobPath(job.id),
    title: job.title || job.id,
    description: `${job.status}: ${usdc(job.budget_usdc).md}, ${counted(job.bids_count, 'bid')}.`,
    ...entryOf('/jobs', 'Jobs', job.created_at.slice(0, 10)),
    body: [
      standing([pill(job.status, 'big'), inline`posted ${time(job.created_at)}`]),
      verdict(verdictOf(job)),
      glance(
        [
          fact('Agreed price', job.price_usdc, (price) => strong(usdc(price))),
          ['Budget, at most', usdc(job.budget_usdc)],
          ['Deadline', time(job.deadline)],
          ['Bids', String(job.bids_count)],
          ['Skills', job.skills.length === 0 ? 'any' : join(job.skills.map(untrustedText), ', ')],
          ['Posted by', walletText(job.poster, names)],
          // Without a receipt the worker may have no page.
          fact('Awarded to', job.worker, (wallet) =>
            (job.receipt_id === undefined ? walletText : workerText)(wallet, names),
          ),
          fact('Receipt', job.receipt_id, (id) => link(receiptPath(id), hash(id))),
        ],
        [
          ...(job.status === 'open' ? [['/docs/hiring#work', 'Bid on this job'] as const] : []),
          [`/api/v1/jobs/${job.id}`, 'JSON with history', 'quiet'],
        ],
      ),
      job.texts_removed_at === undefined
        ? para(untrustedText(job.description))
        : para(
            inline`Title, description and skills were removed at ${time(job.texts_removed_at)}, because the job ended without a delivery.`,
          ),
      job.dispute === undefined
        ? null
        : section(
            'dispute',
            `What the ${job.dispute.by} says is wrong`,
            para(inline`“${untrustedText(job.dispute.reason)}”`),
          ),
      section(
        'history',
        'History',
        steps(
          job.history.map(
            ({ event, status, by, at }) =>
              inline`${strong(event === 'post' ? 'Posted' : capitalized(status))} ${by === 'time' ? 'automatically' : `by the ${by}`} ${sub(time(at))}`,
          ),
        ),
        para('Bids are visible to the poster and to their bidders only.', 'soft'),
      ),
      section(
        'record',
        'Record',
        facts([
          ['Job', code(job.id)],
          ['Wallet of the poster', code(job.poster)],
          fact('SHA-256 of the removed texts', job.texts_sha256, code),
          fact('SHA-256 of the delivery', job.delivery?.content_sha256, code),
        ]),
      ),
      links([['/jobs', 'All jobs']]),
    ],
  }
}
