/** Partners: subscription and attestation endpoint. */
import { newestOath } from '../../src/client/sign.ts'
import { tierName } from '../../src/contract/schemas/partner.ts'
import { paymentFile } from './command.ts'
import type { Command } from './command.ts'
import { paymentOf } from './files.ts'
import { given } from './given.ts'
import { UsageError } from './input.ts'

export const partnerCommands: readonly Command[] = [
  {
    words: 'partner signup',
    summary: 'Begin a subscription; the partner oath is signed with it',
    options: {
      handle: { value: 'name', doc: '3 to 32 of a-z, 0-9 and -', required: true },
      'display-name': { value: 'text', doc: 'name that readers see', required: true },
      tier: { value: tierName.options.join('|'), doc: 'free unless given' },
      email: { value: 'address', doc: 'for the operator only' },
      skill: { value: 'slug', doc: 'a skill, also one outside the taxonomy', many: true },
      website: { value: 'https url', doc: 'where readers find more' },
      bio: { value: 'text', doc: 'at most 280 characters' },
    },
    kind: 'write',
    run: async (session, input) => {
      const tier = tierName.safeParse(input.text('tier') ?? 'free')
      if (!tier.success) throw new UsageError(`--tier is one of ${tierName.options.join(', ')}`)
      const skills = input.list('skill')
      const client = await session.signing()
      const oath = newestOath((await session.reader().oaths()).oaths, 'partner')
      await session.perform(
        await client.calls.signupPartner(
          {
            handle: input.needed('handle'),
            display_name: input.needed('display-name'),
            tier: tier.data,
            ...given({
              email: input.text('email'),
              website: input.text('website'),
              bio_short: input.text('bio'),
              skills: skills.length === 0 ? undefined : [...skills],
            }),
          },
          oath,
          { idempotencyKey: input.text('idempotency-key') },
        ),
      )
    },
  },
  {
    words: 'partner me',
    summary: 'Your own record with subscription, limits and usage',
    kind: 'signed',
    run: async (session) => session.perform(await (await session.signing()).calls.me()),
  },
  {
    words: 'partner subscribe',
    summary: 'Pay for a tier, renew it or change it; free needs no payment',
    description:
      'Without a payment it says what is due. Any wallet may pay; your key says whose subscription it is.',
    operands: [{ name: 'tier', doc: tierName.options.join(', ') }],
    options: paymentFile,
    kind: 'write',
    run: async (session, input) => {
      const tier = tierName.safeParse(input.operand('tier'))
      if (!tier.success) throw new UsageError(`the tier is one of ${tierName.options.join(', ')}`)
      const { calls } = await session.signing()
      await session.perform(
        await calls.changeSubscription(
          { tier: tier.data },
          { payment: paymentOf(input), idempotencyKey: input.text('idempotency-key') },
        ),
      )
    },
  },
  {
    words: 'partner cancel',
    summary: 'Cancel your subscription; what is paid for stays until its end',
    kind: 'signed',
    run: async (session) =>
      session.perform(await (await session.signing()).calls.cancelSubscription()),
  },
  {
    words: 'partner attestation',
    summary: 'Set the attestation endpoint of a partner',
    description:
      'The wallet that is bound to the endpoint may move it; where none is bound, any wallet of the partner’s oath\nhistory binds itself by this.',
    operands: [
      { name: 'handle', doc: 'the partner' },
      { name: 'endpoint', doc: 'https address of the endpoint' },
    ],
    kind: 'signed',
    run: async (session, input) => {
      const { calls } = await session.signing()
      const { operand } = input
      await session.perform(
        await calls.setAttestationEndpoint(operand('handle'), operand('endpoint')),
      )
    },
  },
]
