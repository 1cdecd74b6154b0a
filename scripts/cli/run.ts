import {
  CallError,
  LedgerError,
  LedgerUnreachableError,
  PaymentRequiredError,
  UnexpectedAnswerError,
} from '../../src/client/errors.ts'
import { KeyFormatError } from '../../src/client/signers.ts'
import { version } from '../../src/contract/version.ts'
import type { Command } from './command.ts'
import { commandHelp, overview } from './help.ts'
import { UsageError } from './input.ts'
import { exitCodes, plain } from './output.ts'
import { findCommand, parseInput } from './parse.ts'
import { createSession } from './session.ts'
import type { CliDeps } from './session.ts'

/** Returns the exit code. */
export async function run(
  commands: readonly Command[],
  args: readonly string[],
  deps: CliDeps,
): Promise<number> {
  const found = findCommand(commands, args)
  if (found === null) return runWithoutCommand(commands, args, deps)
  const { command, rest } = found
  try {
    const input = parseInput(command, rest)
    if (input !== null)
      return (await command.run(createSession(deps, input), input)) ?? exitCodes.ok
    deps.write(commandHelp(command))
    return exitCodes.ok
  } catch (error) {
    return reportError(error, command, deps)
  }
}

function runWithoutCommand(
  commands: readonly Command[],
  args: readonly string[],
  { write, warn }: CliDeps,
): number {
  const [first] = args
  if (first === undefined || first === '--help' || first === 'help') {
    write(overview(commands))
    return exitCodes.ok
  }
  if (first === '--version') {
    write(`agent-income-ledger ${version}\n`)
    return exitCodes.ok
  }
  const group = commands.filter(({ words }) => words.startsWith(`${first} `))
  if (group.length > 0) {
    const wantsHelp = args[1] === '--help'
    const print = wantsHelp ? write : warn
    print(overview(group))
    return wantsHelp ? exitCodes.ok : exitCodes.usage
  }
  warn(`Unknown command ${plain(JSON.stringify(first))}. --help lists the commands.\n`)
  return exitCodes.usage
}

function reportError(error: unknown, { words }: Command, { warn }: CliDeps): number {
  const fail = (exitCode: number, ...lines: readonly string[]): number => {
    warn(`${plain(lines.join('\n'))}\n`)
    return exitCode
  }
  if (error instanceof UsageError || error instanceof CallError || error instanceof KeyFormatError)
    return fail(exitCodes.usage, error.message, `${words} --help shows its options.`)
  if (error instanceof LedgerUnreachableError) return fail(exitCodes.unreachable, error.message)
  if (error instanceof UnexpectedAnswerError) return fail(exitCodes.refused, error.message)
  if (!(error instanceof LedgerError)) throw error
  const { message, status, code, details, issues, retryAfterSeconds } = error
  return fail(
    status >= 500 ? exitCodes.unreachable : exitCodes.refused,
    `${message} (${status} ${code})`,
    ...(details === undefined ? [] : [details]),
    ...issues.map((issue) => `  ${issue.path}: ${issue.message}`),
    ...(retryAfterSeconds === null ? [] : [`Try again in ${retryAfterSeconds} s.`]),
    ...(error instanceof PaymentRequiredError ? howToPay(error) : []),
  )
}

function howToPay({ offer }: PaymentRequiredError): readonly string[] {
  const { priceUsdc, accepts, paymentRequired } = offer
  const [way] = accepts
  if (way === undefined)
    return [`The price is ${priceUsdc} USDC, but this ledger does not accept payments.`]
  return [
    `The price is ${priceUsdc} USDC on ${way.network}, paid to ${way.payTo} by x402 (${way.resource}).`,
    'Repeat a read with --pay --max-usdc <usdc> and the key of an EVM wallet with USDC, or sign a payment',
    'with any x402 client, save it in base64 to a file and repeat the call with --payment-file.',
    'One payment buys one answer; failed calls are not charged.',
    ...(paymentRequired === null ? [] : [`PAYMENT-REQUIRED: ${paymentRequired}`]),
  ]
}
