/** The job exchange. */
import { createHash } from 'node:crypto'

import type { z } from 'zod'

import type { jobList } from '../../src/contract/schemas/job.ts'
import type { Command, Operand } from './command.ts'
import { readBytes } from './files.ts'
import { given } from './given.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { table } from './output.ts'

const job: Operand = { name: 'job', doc: 'id of the job' }

const options = (input: Input) => ({ idempotencyKey: input.text('idempotency-key') })

export const jobCommands: readonly Command[] = [
  {
    words: 'job list',
    summary: 'Jobs of the exchange, newest first',
    options: {
      status: { value: 'word', doc: 'only jobs in this status' },
      limit: { value: 'number', doc: '1 to 200' },
      cursor: { value: 'text', doc: 'next_cursor of the page before' },
    },
    kind: 'read',
    run: async ({ reader, print }, input) => {
      const { text } = input
      const answer = await reader().jobs(
        given({ status: text('status'), limit: text('limit'), cursor: text('cursor') }),
      )
      print(answer, listOf(answer))
    },
  },
  {
    words: 'job show',
    summary: 'One job with every move it made',
    operands: [job],
    kind: 'read',
    run: async ({ reader, print }, input) => print(await reader().job(input.operand('job'))),
  },
  {
    words: 'job bids',
    summary: 'The bids on a job: all for its poster, your own for a bidder',
    operands: [job],
    kind: 'signed',
    run: async (session, input) =>
      session.perform(await (await session.signing()).calls.bids(input.operand('job'))),
  },
  {
    words: 'job post',
    summary: 'Post a job',
    options: {
      title: { value: 'text', doc: 'one line', required: true },
      description: { value: 'text', doc: 'what is wanted', required: true },
      skill: { value: 'slug', doc: 'a skill that is needed', many: true, required: true },
      budget: { value: 'usdc', doc: 'the most that a bid may ask', required: true },
      deadline: { value: 'RFC 3339', doc: 'when the delivery is due', required: true },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const body = {
        title: input.needed('title'),
        description: input.needed('description'),
        skills: [...input.list('skill')],
        budget_usdc: input.needed('budget'),
        deadline: input.needed('deadline'),
      }
      await session.perform(await calls.postJob(body, options(input)))
    },
  },
  {
    words: 'job bid',
    summary: 'Bid on an open job',
    operands: [job],
    options: {
      price: { value: 'usdc', doc: 'what you ask', required: true },
      'eta-hours': { value: 'number', doc: 'hours that you need', required: true },
      proposal: { value: 'text', doc: 'how you will do it', required: true },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const body = {
        price_usdc: input.needed('price'),
        eta_hours: wholeNumber(input, 'eta-hours'),
        proposal: input.needed('proposal'),
      }
      await session.perform(await calls.bidOnJob(input.operand('job'), body, options(input)))
    },
  },
  {
    words: 'job award',
    summary: 'Take a bid on a job that you posted',
    operands: [job],
    options: { bid: { value: 'id', doc: 'the bid that is taken', required: true } },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const body = { bid_id: input.needed('bid') }
      await session.perform(await calls.awardJob(input.operand('job'), body, options(input)))
    },
  },
  {
    words: 'job deliver',
    summary: 'Deliver a job that was awarded to you',
    operands: [job],
    options: {
      uri: { value: 'https url', doc: 'where the work lies', required: true },
      file: { value: 'path', doc: 'the work itself, to take its SHA-256 from' },
      sha256: { value: 'hex', doc: 'SHA-256 of the work, instead of --file' },
      note: { value: 'text', doc: 'what the poster should know' },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const body = {
        uri: input.needed('uri'),
        content_sha256: contentSha256(input),
        ...given({ note: input.text('note') }),
      }
      await session.perform(await calls.deliverJob(input.operand('job'), body, options(input)))
    },
  },
  {
    words: 'job accept',
    summary: 'Accept the delivery of a job that you posted; the exchange issues the receipt',
    operands: [job],
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      await session.perform(await calls.acceptJob(input.operand('job'), options(input)))
    },
  },
  {
    words: 'job dispute',
    summary: 'Dispute the delivery of a job that you posted',
    operands: [job],
    options: { reason: { value: 'text', doc: 'what is wrong with it', required: true } },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const body = { reason: input.needed('reason') }
      await session.perform(await calls.disputeJob(input.operand('job'), body, options(input)))
    },
  },
  {
    words: 'job cancel',
    summary: 'Cancel a job that you posted',
    operands: [job],
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      await session.perform(await calls.cancelJob(input.operand('job'), options(input)))
    },
  },
]

function listOf({ jobs, next_cursor: next }: z.infer<typeof jobList>): string {
  const columns = ['id', 'status', 'budget_usdc', 'bids_count', 'deadline', 'title']
  const more = next === undefined ? '' : `More: --cursor ${next}\n`
  return table(columns, jobs) + more
}

function contentSha256(input: Input): string {
  const [file, sha256] = [input.text('file'), input.text('sha256')]
  if ((file === undefined) === (sha256 === undefined)) {
    throw new UsageError('give either --file or --sha256')
  }
  return (
    sha256 ??
    createHash('sha256')
      .update(readBytes(file ?? ''))
      .digest('hex')
  )
}

function wholeNumber(input: Input, name: string): number {
  const text = input.needed(name)
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number`)
  return Number(text)
}
