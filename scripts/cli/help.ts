import { groupBy } from '../../src/core/group-by.ts'
import { argumentsOf } from './command.ts'
import type { Argument, Command } from './command.ts'

const program = 'agent-income-ledger'

const codes = `Exit codes
  0  the command succeeded and all its checks passed
  1  the ledger refused the request, or a check failed
  2  the command line is invalid, or a key or file cannot be used
  3  the ledger cannot be reached`

export function overview(commands: readonly Command[]): string {
  const sections = groupBy(commands, ({ section = 'Commands' }) => section)
  const lists = [...sections].map(
    ([section, listed]) =>
      `${section}\n${columns(listed.map((command) => [usage(command), command.summary]))}\n`,
  )
  return `Usage: ${program} <command> [options]

${lists.join('\n')}
${program} <command> --help shows a command's options; --version prints the version.
Keys come from a file or the environment (--key-file, LEDGER_KEY_FILE, LEDGER_KEY), never from arguments.

${codes}
`
}

export function commandHelp(command: Command): string {
  const { summary, description } = command
  const { operands, options } = argumentsOf(command)
  const rows = [
    ...operands.map(([name, { doc }]) => [`<${name}>`, doc] as const),
    ...[...options].map(([name, option]) => {
      const value = option.value === undefined ? '' : ` <${option.value}>`
      return [`--${name}${value}`, optionDoc(option)] as const
    }),
  ]
  return `Usage: ${program} ${usage(command)} [options]

${summary}.
${description === undefined ? '' : `\n${description}\n`}
${columns(rows)}

${codes}
`
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, doc]) => `  ${name.padEnd(width)}  ${doc}`).join('\n')
}

function usage(command: Command): string {
  const operands = argumentsOf(command).operands.map(([name]) => `<${name}>`)
  return [command.words, ...operands].join(' ')
}

function optionDoc({ doc, isRequired = false, isRepeatable = false }: Argument): string {
  const notes = [...(isRequired ? ['required'] : []), ...(isRepeatable ? ['may be repeated'] : [])]
  return notes.length === 0 ? doc : `${doc} (${notes.join(', ')})`
}
