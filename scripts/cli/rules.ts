import { tryRules } from '../../builder/rails/try-rules.ts'
import { tryReputation } from '../../src/core/reputation/try.ts'
import { TryLineError } from '../../src/core/try-lines.ts'
import { operand } from './command.ts'
import type { Command } from './command.ts'
import { readBytes } from './files.ts'
import { orUsageError } from './input.ts'

export const rulesTry = tryCommand(
  'rules try',
  'Judge made-up or exported payments with the status rules of the ledger',
  'Reads one JSON object a line: rail, payment, transfer, wallet or offers. Prints one line per rail.\nThe lines are described at /docs/rules#try.',
  tryRules,
)

export const reputationTry = tryCommand(
  'reputation try',
  'Score made-up receipts with the code that scores real ones',
  'Reads one JSON object a line: receipt, transfer or wallet. Prints one line per worker: its score after both checks,\nand its entries. The lines are described at /docs/reputation#try.',
  tryReputation,
)

/** Prints each result of `judge` as soon as it is there. */
function tryCommand(
  words: string,
  summary: string,
  description: string,
  judge: (lines: Iterable<string>) => Iterable<object>,
): Command {
  return {
    words,
    summary,
    description,
    args: { file: operand('a file of lines, or - for standard input') },
    run: async (session, input) => {
      const bytes = readBytes(input.required('file'))
      orUsageError(TryLineError, () => {
        for (const result of judge(linesOf(bytes))) session.write(`${JSON.stringify(result)}\n`)
      })
      await Promise.resolve()
    },
  }
}

/** One by one, since all lines together may be longer than a string can be. */
function* linesOf(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(10, start)
    const end = newline === -1 ? bytes.length : newline
    yield bytes.toString('utf8', start, end)
    start = end + 1
  }
}
