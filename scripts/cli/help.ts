/** Help, made from the table of commands. */
import { optionsOf } from './command.ts'
import type { Command, Option } from './command.ts'

const program = 'agent-income-ledger'

const codes = `Exit codes
  0  done, or everything that was checked holds
  1  refused by the ledger, or something that was checked does not hold
  2  the command line is wrong, or a key or file cannot be used
  3  the ledger cannot be reached`

/** All commands, each with its line. */
export function overview(commands: readonly Command[]): string {
  const names = commands.map((command) => usageOf(command))
  const width = Math.max(...names.map(({ length }) => length))
  const lines = commands.map(
    ({ summary }, at) => `  ${(names[at] ?? '').padEnd(width)}  ${summary}`,
  )
  return `Usage: ${program} <command> [options]

Commands
${lines.join('\n')}

${program} <command> --help tells the options of a command.
Keys come from a file or the environment (--key-file, LEDGER_KEY_FILE, LEDGER_KEY), never from arguments.

${codes}
`
}

/** One command with its operands and options. */
export function helpOf(command: Command): string {
  const { summary, description, operands = [] } = command
  const options = Object.entries(optionsOf(command))
  const rows = [
    ...operands.map(({ name, doc }): [string, string] => [`<${name}>`, doc]),
    ...options.map(([name, option]): [string, string] => [
      optionUsage(name, option),
      docOf(option),
    ]),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return `Usage: ${program} ${usageOf(command)} [options]

${summary}.
${description === undefined ? '' : `\n${description}\n`}
${rows.map(([name, doc]) => `  ${name.padEnd(width)}  ${doc}`).join('\n')}

${codes}
`
}

function usageOf({ words, operands = [] }: Command): string {
  return [words, ...operands.map(({ name }) => `<${name}>`)].join(' ')
}

function optionUsage(name: string, { value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} <${value}>`
}

function docOf({ doc, required, many }: Option): string {
  const notes = [required === true ? 'needed' : '', many === true ? 'may be repeated' : '']
  const shown = notes.filter((note) => note !== '').join(', ')
  return shown === '' ? doc : `${doc} (${shown})`
}
