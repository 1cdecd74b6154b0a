/** The code of the guides in `data/docs`. */
import { execute } from './command-line.ts'
import type { CommandResult } from './command-line.ts'

/** As the third argument, each takes the code. */
const programs = {
  sh: ['bash', '-eo', 'pipefail', '-c'],
  js: [process.execPath, '--input-type=module', '-e'],
  ts: [process.execPath, '--input-type=module', '-e'],
  py: ['python3', '-c'],
} as const

export type Language = keyof typeof programs

export interface Sample {
  readonly language: Language
  readonly code: string
}

/** The blocks of code that a program can run. */
export function samplesIn(markdown: string): readonly Sample[] {
  const blocks = [...markdown.matchAll(/```(sh|js|ts|py)\n([\s\S]*?)```/g)]
  return blocks.map(([, language, code = '']) => ({ language: languageOf(language), code }))
}

export async function runSample(
  { language, code }: Sample,
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const [program, ...options] = programs[language]
  return await execute(program, [...options, code], folder, environment)
}

function languageOf(name = ''): Language {
  if (name === 'sh' || name === 'js' || name === 'ts' || name === 'py') return name
  throw new Error(`no program runs ${name}`)
}
