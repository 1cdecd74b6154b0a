import { flag, operand, option } from './command.ts'
import type { Command } from './command.ts'

export const recompute: Command = {
  words: 'recompute',
  summary: 'Recompute the figures of a poll from its evidence',
  description:
    'Downloads the evidence of all polls of the window, checks every SHA-256, and runs the adapter, the status rules and the\nflag rules over it. Prints the first line that differs. With --rpc, also reads some of the logs again from that node.',
  args: {
    rail: operand('slug of the rail'),
    at: option('time', '`polled_at` of the poll (default: the newest successful poll)'),
    site: option('url', 'the same as --ledger'),
    rpc: option('url', 'node of the chain of this rail'),
    all: flag('read all logs again, not a random sample'),
    'allow-unchecked': flag('succeed although something cannot be checked'),
    log: flag('also check that the log contains the poll with this evidence'),
  },
  groups: ['ledger', 'log'],
  run: async (session, input) =>
    await (await import('./recompute/poll.ts')).recomputePoll(session, input),
}
