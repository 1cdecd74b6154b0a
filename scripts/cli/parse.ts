import { parseArgs } from 'node:util'

import type { z } from 'zod'

import { describeIssues } from '../../src/contract/issue-text.ts'
import { argumentsOf } from './command.ts'
import type { Argument, Command } from './command.ts'
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
  const { operands, options } = argumentsOf(command)
  const { values, positionals, tokens } = parseStrictly(options, rest)
  const given = new Map<string, unknown>(Object.entries(values))
  if (given.get('help') === true) return null
  const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const repeated = names.find(
    (name, at) => names.indexOf(name) !== at && options.get(name)?.isRepeatable !== true,
  )
  if (repeated !== undefined) throw new UsageError(`--${repeated} may be given only once`)
  for (const [name, { isRequired, isRepeatable, value, schema }] of options) {
    const text = given.get(name)
    if (text !== undefined) requireFit(`--${name}`, schema, text)
    // The schema of a repeatable option checks the number of its values.
    else if (isRequired === true && isRepeatable !== true)
      throw new UsageError(`--${name} <${value}> is required`)
  }
  for (const [at, [name, { doc, schema }]] of operands.entries()) {
    const text = positionals[at]
    if (text === undefined) throw new UsageError(`<${name}> is required: ${doc}`)
    requireFit(`<${name}>`, schema, text)
    given.set(name, text)
  }
  const unexpected = positionals[operands.length]
  if (unexpected !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(unexpected)}`)
  return createInput(given)
}

function parseStrictly(options: ReadonlyMap<string, Argument>, args: readonly string[]) {
  const types = [...options].map(([name, { value, isRepeatable = false }]) => {
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

function requireFit(name: string, schema: z.ZodType | undefined, text: unknown): void {
  const parsed = schema?.safeParse(text)
  if (parsed === undefined || parsed.success) return
  throw new UsageError(
    `${name}: ${describeIssues(parsed.error, text)[0]?.message ?? 'is not valid'}`,
  )
}

function createInput(given: ReadonlyMap<string, unknown>): Input {
  const text = (name: string): string | undefined => {
    const value = given.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return {
    text,
    required: (name) => text(name) ?? '',
    list: (name) => {
      const value = given.get(name)
      return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
    },
    flag: (name) => given.get(name) === true,
  }
}
