/** From what was typed to a command and its input. */
import { parseArgs } from 'node:util'

import { optionsOf } from './command.ts'
import type { Command } from './command.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'

export interface Typed {
  readonly command: Command
  readonly input: Input
  readonly wantsHelp: boolean
}

/** The command whose words begin the arguments, the longest first; null where none does. */
export function findCommand(
  commands: readonly Command[],
  args: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | null {
  const found = commands
    .filter(({ words }) => words.split(' ').every((word, at) => args[at] === word))
    .toSorted((left, right) => right.words.length - left.words.length)[0]
  return found === undefined
    ? null
    : { command: found, rest: args.slice(found.words.split(' ').length) }
}

/** @throws UsageError that says what is wrong with the arguments. */
export function parseInput(command: Command, rest: readonly string[]): Typed {
  const options = optionsOf(command)
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { value, many }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: many === true,
      },
    ]),
  )
  const { values, positionals, tokens } = strictly(() =>
    parseArgs({ args: [...rest], options: config, allowPositionals: true, tokens: true }),
  )
  const given = new Map(Object.entries(values))
  const wantsHelp = given.get('help') === true
  if (!wantsHelp) {
    refuseRepeats(tokens, options)
    requireOptions(command, given)
    requireOperands(command, positionals)
  }
  return { command, input: inputOf(command, given, positionals), wantsHelp }
}

function strictly<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    // Node's own messages name the option and never its value.
    if (error instanceof TypeError) throw new UsageError(error.message.split('. ', 1)[0] ?? '')
    throw error
  }
}

function refuseRepeats(
  tokens: readonly { readonly kind: string; readonly name?: string }[],
  options: ReturnType<typeof optionsOf>,
): void {
  const seen = new Set<string>()
  for (const { kind, name } of tokens) {
    if (kind !== 'option' || name === undefined) continue
    if (seen.has(name) && options[name]?.many !== true) {
      throw new UsageError(`--${name} is given twice`)
    }
    seen.add(name)
  }
}

function requireOptions(command: Command, given: ReadonlyMap<string, unknown>): void {
  for (const [name, { required, value }] of Object.entries(command.options ?? {})) {
    if (required === true && !given.has(name))
      throw new UsageError(`--${name} <${value}> is needed`)
  }
}

function requireOperands(command: Command, positionals: readonly string[]): void {
  const { operands = [] } = command
  const missing = operands[positionals.length]
  if (missing !== undefined) throw new UsageError(`<${missing.name}> is needed: ${missing.doc}`)
  if (positionals.length > operands.length) {
    throw new UsageError(`${JSON.stringify(positionals[operands.length])} is one argument too many`)
  }
}

function inputOf(
  command: Command,
  given: ReadonlyMap<string, unknown>,
  positionals: readonly string[],
): Input {
  const text = (name: string): string | undefined => {
    const value = given.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    text,
    operand: (name) =>
      positionals[command.operands?.findIndex((operand) => operand.name === name) ?? -1] ?? '',
    needed: (name) => text(name) ?? '',
    list: (name) => {
      const value = given.get(name)
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
    },
    flag: (name) => given.get(name) === true,
  }
}
