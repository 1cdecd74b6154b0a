/** Alerts, applications, the ranking, and what anybody may say. */
import { severity } from '../../src/contract/schemas/flag.ts'
import { skillCategory } from '../../src/contract/schemas/skill.ts'
import type { Command, Operand } from './command.ts'
import { paymentOf } from './files.ts'
import { given } from './given.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { table } from './output.ts'

const subscription: Operand = { name: 'subscription', doc: 'id of the subscription' }
const options = (input: Input) => ({ idempotencyKey: input.text('idempotency-key') })

export const marketCommands: readonly Command[] = [
  {
    words: 'alerts feed',
    summary: 'Flags and rail transitions since a time, oldest first',
    options: {
      since: {
        value: 'RFC 3339',
        doc: 'only newer events; next_poll_hint.since of the answer before',
      },
      rail: { value: 'slug', doc: 'only events of this rail' },
      severity: { value: severity.options.join('|'), doc: 'only events of this severity' },
    },
    kind: 'sold',
    run: async (session, input) => {
      const { calls } = await session.paying()
      const { text } = input
      const query = given({
        since: text('since'),
        rail: text('rail'),
        severity: text('severity'),
      })
      const call = await calls.alertFeed(query, { payment: paymentOf(input) })
      await session.perform(call, ({ events, next_poll_hint: next }) => {
        const rows = table(['created_at', 'kind', 'severity', 'rail', 'title'], events)
        return `${rows}Next: --since ${next.since}, in ${next.after_seconds} s.\n`
      })
    },
  },
  {
    words: 'alerts subscribe',
    summary: 'Have events delivered to a webhook; its secret is shown once',
    operands: [{ name: 'url', doc: 'https address that takes the deliveries' }],
    options: {
      rail: { value: 'slug', doc: 'only events of this rail', many: true },
      severity: { value: severity.options.join('|'), doc: 'only events of this severity' },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const rails = input.list('rail')
      const body = {
        url: input.operand('url'),
        ...given({
          rails: rails.length === 0 ? undefined : [...rails],
          severity: severityOf(input.text('severity')),
        }),
      }
      await session.perform(await calls.subscribeAlerts(body, options(input)))
    },
  },
  {
    words: 'alerts subscriptions',
    summary: 'Your webhooks',
    kind: 'signed',
    run: async (session) =>
      session.perform(
        await (await session.signing()).calls.alertSubscriptions(),
        ({ subscriptions }) => table(['id', 'status', 'url', 'rails', 'severity'], subscriptions),
      ),
  },
  {
    words: 'alerts deliveries',
    summary: 'What was sent to a webhook, and how it went, dead letters included',
    operands: [subscription],
    kind: 'signed',
    run: async (session, input) =>
      session.perform(
        await (await session.signing()).calls.alertDeliveries(input.operand('subscription')),
        ({ deliveries }) =>
          table(['id', 'type', 'status', 'attempts', 'last_status', 'last_error'], deliveries),
      ),
  },
  {
    words: 'alerts test',
    summary: 'Have a test event sent to a webhook',
    operands: [subscription],
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      await session.perform(await calls.testAlerts(input.operand('subscription'), options(input)))
    },
  },
  {
    words: 'alerts unsubscribe',
    summary: 'End a webhook',
    operands: [subscription],
    kind: 'signed',
    run: async (session, input) => {
      const { calls } = await session.signing()
      await session.perform(await calls.unsubscribeAlerts(input.operand('subscription')))
    },
  },
  {
    words: 'apply',
    summary: 'Apply to a rail through the ledger, or learn where to apply',
    operands: [{ name: 'rail', doc: 'slug of the rail' }],
    options: {
      worker: { value: 'wallet', doc: 'wallet that is to work and be paid; your own unless given' },
      message: { value: 'text', doc: 'what the rail is told', required: true },
      field: { value: 'name=text', doc: 'a further field, where the rail takes it', many: true },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const fields = input.list('field').map(fieldOf)
      const body = {
        rail: input.operand('rail'),
        worker_wallet: input.text('worker') ?? (await session.signer()).wallet,
        message: input.needed('message'),
        ...given({ fields: fields.length === 0 ? undefined : Object.fromEntries(fields) }),
      }
      await session.perform(await calls.applyToRail(body, options(input)))
    },
  },
  {
    words: 'arbitrage',
    summary: 'Rails by expected USD a day, with what speaks against each',
    kind: 'sold',
    run: async (session, input) => {
      const { calls } = await session.paying()
      const call = await calls.arbitrage({ payment: paymentOf(input) })
      await session.perform(call, ({ ranking, caveats }) => {
        const columns = [
          'rail',
          'status',
          'expected_usd_per_day_per_creator',
          'expected_usd_per_day_per_worker',
          'breakeven_days',
          'confidence',
        ]
        return `${table(columns, ranking)}${caveats.map((caveat) => `- ${caveat}\n`).join('')}`
      })
    },
  },
  {
    words: 'feedback',
    summary: 'Tell the people behind the ledger something',
    operands: [{ name: 'message', doc: 'at most 4,000 characters' }],
    options: {
      page: { value: 'text', doc: 'what it is about: a path or an address' },
      contact: { value: 'text', doc: 'where an answer would reach you; never shown' },
      rating: { value: '1-5', doc: 'how good it is' },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = session.reader()
      const rating = input.text('rating')
      if (rating !== undefined && !/^[1-5]$/.test(rating))
        throw new UsageError('--rating is 1 to 5')
      const body = {
        message: input.operand('message'),
        ...given({
          page: input.text('page'),
          contact: input.text('contact'),
          rating: rating === undefined ? undefined : Number(rating),
        }),
      }
      await session.perform(await calls.submitFeedback(body, options(input)))
    },
  },
  {
    words: 'skill propose',
    summary: 'Propose a skill for the taxonomy',
    operands: [{ name: 'name', doc: 'what it is called' }],
    options: {
      category: { value: 'slug', doc: 'one of the twelve categories', required: true },
      surface: { value: 'rail', doc: 'a rail on which it is sold', many: true, required: true },
      description: { value: 'text', doc: 'at most 500 characters', required: true },
      proposer: { value: 'text', doc: 'a wallet, a handle or a name' },
    },
    kind: 'write',
    run: async (session, input) => {
      const { calls } = session.reader()
      const category = skillCategory.safeParse(input.needed('category'))
      if (!category.success) {
        throw new UsageError(`--category is one of ${skillCategory.options.join(', ')}`)
      }
      const body = {
        name: input.operand('name'),
        category: category.data,
        surface: [...input.list('surface')],
        description: input.needed('description'),
        ...given({ proposer: input.text('proposer') }),
      }
      await session.perform(await calls.proposeSkill(body, options(input)))
    },
  },
]

function severityOf(text: string | undefined) {
  if (text === undefined) return undefined
  const parsed = severity.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`--severity is one of ${severity.options.join(', ')}`)
}

function fieldOf(text: string): [string, string] {
  const mark = text.indexOf('=')
  if (mark < 1) throw new UsageError('--field is <name>=<text>')
  return [text.slice(0, mark), text.slice(mark + 1)]
}
