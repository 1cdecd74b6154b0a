import { tryReputation } from '../../src/core/reputation/try.ts'
import { TryLineError } from '../../src/core/try-lines.ts'
import { operand } from './command.ts'
import type { Command } from './command.ts'
import { readBytes } from './files.ts'
import { orUsageError } from './input.ts'

export const rulesTry: Command = {
  words: 'rules try',
  summary: 'Judge invented or exported payments with the status rules of the ledger',
  description:
    'Reads one JSON object per line: rail, payment, transfer, wallet or offers. Prints one line per rail.\nThe lines are described at /docs/rules#try.',
  args: { file: operand('a file of lines, or - for standard input') },
  run: async (session, input) => {
    const { tryRules } = await import('../../builder/rails/try-rules.ts')
    const bytes = readBytes(input.required('file'))
    orUsageError(TryLineError, () => {
      for (const rail of tryRules(linesOf(bytes))) session.write(`${JSON.stringify(rail)}\n`)
    })
  },
}

export const reputationTry: Command = {
  words: 'reputation try',
  summary: 'Score invented receipts with the code that scores real ones',
  description:
    'Reads one JSON object per line: receipt, transfer or wallet. Prints one line per worker: its score after both checks,\nand its entries. The lines are described at /docs/reputation#try.',
  args: { file: operand('a file of lines, or - for standard input') },
  run: async (session, input) => {
    const lines = linesOf(readBytes(input.required('file')))
    const workers = orUsageError(TryLineError, () => tryReputation(lines))
    for (const worker of workers) session.write(`${JSON.stringify(worker)}\n`)
    await Promise.resolve()
  },
}

/** Reads line by line, since the input may exceed the maximum length of a string. */
function* linesOf(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(10, start)
    const end = newline === -1 ? bytes.length : newline
    yield bytes.toString('utf8', start, end)
    start = end + 1
  }
}
