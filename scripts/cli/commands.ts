/** Every command, in the order of the help. */
import { adminCommands } from './admin.ts'
import type { Command } from './command.ts'
import { jobCommands } from './jobs.ts'
import { keyCommands } from './keys.ts'
import { marketCommands } from './market.ts'
import { pactCommands } from './pacts.ts'
import { partnerCommands } from './partners.ts'
import { readCommands } from './reads.ts'
import { receiptCommands } from './receipts.ts'
import { verifyCommands } from './verify.ts'
import { workerCommands } from './workers.ts'

export const commands: readonly Command[] = [
  ...keyCommands,
  ...workerCommands,
  ...receiptCommands,
  ...verifyCommands,
  ...pactCommands,
  ...partnerCommands,
  ...jobCommands,
  ...marketCommands,
  ...readCommands,
  ...adminCommands,
]
