import { parseArgs } from 'node:util'

import type { z } from 'zod'

import { describeIssues } from '../../src/contract/issue-text.ts'
import { optionsOf } from './command.ts'
import type { Command, Options } from './command.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'

/** Finds the longest matching command. */
export function findCommand(
  commands: readonly Command[],
  args: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } | null {
  const command = commands
    .filter(({ words }) => words.split(' ').every((word, at) => args[at] === word))
    .toSorted((left, right) => right.words.length - left.words.length)[0]
  return command === undefined
    ? null
    : { command, rest: args.slice(command.words.split(' ').length) }
}

/** Returns null if the user requests help. @throws UsageError */
export function parseInput(command: Command, rest: readonly string[]): Input | null {
  const options = optionsOf(command)
  const { values, positionals, tokens } = parseStrictly(options, rest)
  const given = new Map<string, unknown>(Object.entries(values))
  if (given.get('help') === true) return null
  refuseRepeats(
    tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : [])),
    options,
  )
  requireOptions(options, given)
  requireOperands(command, positionals)
  return createInput(command, given, positionals)
}

function parseStrictly(options: Options, args: readonly string[]) {
  const types = Object.entries(options).map(([name, { value, isRepeatable = false }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const)
    return [name, { type, multiple: isRepeatable }] as const
  })
  try {
    return parseArgs({
      args: [...args],
      options: Object.fromEntries(types),
      allowPositionals: true,
      tokens: true,
    })
  } catch (error) {
    // An error message of Node contains the option but never its value.
    if (error instanceof TypeError) throw new UsageError(error.message.split('. ', 1)[0] ?? '')
    throw error
  }
}

function refuseRepeats(names: readonly string[], options: Options): void {
  const repeated = names.find(
    (name, at) => names.indexOf(name) !== at && options[name]?.isRepeatable !== true,
  )
  if (repeated !== undefined) throw new UsageError(`--${repeated} may be given only once`)
}

function requireOptions(options: Options, given: ReadonlyMap<string, unknown>): void {
  for (const [name, { isRequired, isRepeatable, value, schema }] of Object.entries(options)) {
    const text = given.get(name)
    if (text !== undefined) requireFit(`--${name}`, schema, text)
    // The schema of a repeatable option checks the number of its values.
    else if (isRequired === true && isRepeatable !== true)
      throw new UsageError(`--${name} <${value}> is required`)
  }
}

function requireOperands({ operands = [] }: Command, positionals: readonly string[]): void {
  const missing = operands[positionals.length]
  if (missing !== undefined) throw new UsageError(`<${missing.name}> is required: ${missing.doc}`)
  if (positionals.length > operands.length) {
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[operands.length])}`)
  }
  for (const [at, { name, schema }] of operands.entries()) {
    requireFit(`<${name}>`, schema, positionals[at])
  }
}

function requireFit(name: string, schema: z.ZodType | undefined, text: unknown): void {
  const parsed = schema?.safeParse(text)
  if (parsed === undefined || parsed.success) return
  throw new UsageError(
    `${name}: ${describeIssues(parsed.error, text)[0]?.message ?? 'is not valid'}`,
  )
}

function createInput(
  { operands = [] }: Command,
  given: ReadonlyMap<string, unknown>,
  positionals: readonly string[],
): Input {
  const text = (name: string): string | undefined => {
    const value = given.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    text,
    operand: (name) => positionals[operands.findIndex((operand) => operand.name === name)] ?? '',
    required: (name) => text(name) ?? '',
    list: (name) => {
      const value = given.get(name)
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
    },
    flag: (name) => given.get(name) === true,
  }
}
