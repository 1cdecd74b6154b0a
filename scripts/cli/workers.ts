/** Workers: registration and the claim of a spot. */
import { newestOath } from '../../src/client/sign.ts'
import type { Command } from './command.ts'
import { given } from './given.ts'
import { UsageError } from './input.ts'

export const workerCommands: readonly Command[] = [
  {
    words: 'register',
    summary: 'Register your wallet and its skills, or replace what was said before',
    options: {
      skill: { value: 'slug', doc: 'a skill of the taxonomy', many: true },
      'display-name': { value: 'text', doc: 'name that readers see' },
      url: { value: 'https url', doc: 'where readers find more' },
      bio: { value: 'text', doc: 'a few lines' },
      'receipt-key-file': {
        value: 'path',
        doc: 'ed25519 key that signs your receipts; its public part is registered',
      },
      oath: { doc: 'sign the worker oath as well' },
    },
    kind: 'write',
    run: async (session, input) => {
      const client = await session.signing()
      const keyFile = input.text('receipt-key-file')
      const oath = input.flag('oath')
        ? newestOath((await session.reader().oaths()).oaths, 'worker')
        : undefined
      await session.perform(
        await client.calls.registerWorker(
          {
            skills: [...input.list('skill')],
            ...given({
              display_name: input.text('display-name'),
              url: input.text('url'),
              bio: input.text('bio'),
              receipt_key:
                keyFile === undefined ? undefined : session.receiptKey(keyFile).publicKey,
            }),
          },
          { ...given({ oath }), idempotencyKey: input.text('idempotency-key') },
        ),
      )
    },
  },
  {
    words: 'claim',
    summary: 'Claim your spot on the leaderboard, by wallet or by e-mail',
    description:
      'By wallet: --display-name and a key; the claim oath is signed with it.\nBy e-mail: --email and --display-name send a code, --email and --code make the claim.',
    options: {
      'display-name': { value: 'text', doc: 'name that readers see' },
      email: { value: 'address', doc: 'claim by e-mail instead of by wallet' },
      wallet: { value: 'wallet', doc: 'wallet whose spot the e-mail claims' },
      code: { value: 'digits', doc: 'the code that the ledger sent' },
    },
    kind: 'write',
    run: async (session, input) => {
      const options = { idempotencyKey: input.text('idempotency-key') }
      const email = input.text('email')
      const code = input.text('code')
      const name = input.text('display-name')
      if (email !== undefined && code !== undefined) {
        const { calls } = session.reader()
        await session.perform(await calls.claimWithCode({ email, code }, options))
        return
      }
      if (name === undefined) throw new UsageError('--display-name <text> is needed')
      if (email !== undefined) {
        const body = { email, display_name: name, ...given({ wallet: input.text('wallet') }) }
        await session.perform(await session.reader().calls.requestClaimCode(body, options))
        return
      }
      const client = await session.signing()
      const oath = newestOath((await session.reader().oaths()).oaths, 'claim')
      await session.perform(await client.calls.claimSpot({ display_name: name, oath }, options))
    },
  },
]
