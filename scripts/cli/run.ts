/** Runs one command line and says how it ended. */
import {
  CallError,
  LedgerError,
  LedgerUnreachableError,
  PaymentRequiredError,
  UnexpectedAnswerError,
} from '../../src/client/errors.ts'
import { KeyFormatError } from '../../src/client/signers.ts'
import { exitCodes } from './command.ts'
import type { Command } from './command.ts'
import { helpOf, overview } from './help.ts'
import { UsageError } from './input.ts'
import { plain } from './output.ts'
import { findCommand, parseInput } from './parse.ts'
import { createSession } from './session.ts'
import type { Outside } from './session.ts'

/** The exit code. Results go to `write`, everything else to `warn`. */
export async function run(
  commands: readonly Command[],
  args: readonly string[],
  outside: Outside,
): Promise<number> {
  const found = findCommand(commands, args)
  if (found === null) return withoutCommand(commands, args, outside)
  const { command, rest } = found
  try {
    const { input, wantsHelp } = parseInput(command, rest)
    if (wantsHelp) {
      outside.write(helpOf(command))
      return exitCodes.ok
    }
    return (await command.run(createSession(outside, input), input)) ?? exitCodes.ok
  } catch (error) {
    return ended(error, command, outside)
  }
}

function withoutCommand(
  commands: readonly Command[],
  args: readonly string[],
  { write, warn }: Outside,
): number {
  const [first] = args
  if (first === undefined || first === '--help' || first === 'help') {
    write(overview(commands))
    return exitCodes.ok
  }
  const group = commands.filter(({ words }) => words.startsWith(`${first} `))
  if (group.length > 0) {
    const wantsHelp = args[1] === '--help'
    const print = wantsHelp ? write : warn
    print(overview(group))
    return wantsHelp ? exitCodes.ok : exitCodes.usage
  }
  warn(`There is no command ${plain(JSON.stringify(first))}. --help lists them.\n`)
  return exitCodes.usage
}

function ended(error: unknown, command: Command, { warn }: Outside): number {
  if (
    error instanceof UsageError ||
    error instanceof CallError ||
    error instanceof KeyFormatError
  ) {
    warn(`${plain(error.message)}\n${command.words} --help tells how it is used.\n`)
    return exitCodes.usage
  }
  if (error instanceof LedgerUnreachableError) {
    warn(`${plain(error.message)}\n`)
    return exitCodes.unreachable
  }
  if (error instanceof LedgerError) {
    const lines = [
      `${error.message} (${error.status} ${error.code})`,
      ...(error.details === undefined ? [] : [error.details]),
      ...error.issues.map(({ path, message }) => `  ${path}: ${message}`),
      ...(error.retryAfterSeconds === null ? [] : [`Try again in ${error.retryAfterSeconds} s.`]),
      ...(error instanceof PaymentRequiredError ? howToPay(error) : []),
    ]
    warn(`${plain(lines.join('\n'))}\n`)
    return error.status >= 500 ? exitCodes.unreachable : exitCodes.refused
  }
  if (error instanceof UnexpectedAnswerError) {
    warn(`${plain(error.message)}\n`)
    return exitCodes.refused
  }
  throw error
}

function howToPay({ offer }: PaymentRequiredError): readonly string[] {
  const { priceUsdc, accepts, paymentRequired } = offer
  const [way] = accepts
  if (way === undefined) return [`It costs ${priceUsdc} USDC, and payment is not available here.`]
  return [
    `It costs ${priceUsdc} USDC on ${way.network}, paid to ${way.payTo} by x402 (${way.resource}).`,
    'Have any x402 client sign a payment for these terms, write it to a file in base64 and repeat',
    'with --payment-file. One payment buys one answer; what fails is not charged.',
    ...(paymentRequired === null ? [] : [`PAYMENT-REQUIRED: ${paymentRequired}`]),
  ]
}
