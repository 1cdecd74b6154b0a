import { execFile } from 'node:child_process'

import { commands } from '../../scripts/cli/commands.ts'
import { run } from '../../scripts/cli/run.ts'
import type { CliDeps } from '../../scripts/cli/session.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs one command line in this process, without a network unless `deps` contain a `fetch`. */
export async function runCommand(
  args: readonly string[],
  environment: CliDeps['environment'] = {},
  deps: Partial<Pick<CliDeps, 'clock' | 'fetch'>> = {},
): Promise<CommandResult> {
  let [out, err] = ['', '']
  const code = await run(commands, args, {
    environment: { LEDGER_URL: 'http://127.0.0.1:9', ...environment },
    clock: systemClock,
    random: systemRandom,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    write: (text) => {
      out += text
    },
    warn: (text) => {
      err += text
    },
    ...deps,
  })
  return { code, out, err }
}

/** Runs a program to its end, with `environment` added to the environment of the tests. */
export async function execute(
  file: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return await new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...environment } }
    execFile(file, [...args], options, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: out.trim(), err })
    })
  })
}
