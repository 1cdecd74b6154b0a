/** Runs the command line in child processes against a running service. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { installProgram, run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'

/** Arguments; a string is split at its spaces. */
export type CommandLine = string | readonly string[]

export const argumentsOf = (line: CommandLine): readonly string[] =>
  typeof line === 'string' ? line.split(' ') : line

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Shell {
  readonly program: Program
  /** A folder for keys and receipts. */
  readonly folder: string
  readonly dataDir: string
  readonly publicDir: string
  readonly url: () => string
  /** Runs the command line with the address of the service in its environment. */
  readonly cli: (args: CommandLine, env?: Readonly<Record<string, string>>) => Promise<Ended>
  readonly bash: (text: string) => Promise<Ended>
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly close: () => Promise<void>
}

export function openShell(): Shell {
  const program = installProgram()
  const folder = mkdtempSync(join(tmpdir(), 'ledger-cli-'))
  const [dataDir, publicDir] = [join(folder, 'data'), join(folder, 'public')]
  const places = { DATA_DIR: dataDir, PUBLIC_DIR: publicDir, POLL: 'off', LIMITS: 'off' }
  let service: Running | null = null
  let url = 'http://127.0.0.1:9'
  const stop = async () => {
    service?.kill('SIGTERM')
    await service?.ended
    service = null
  }
  return {
    program,
    folder,
    dataDir,
    publicDir,
    url: () => url,
    cli: (args, env = {}) =>
      ended(
        process.execPath,
        [program.scriptOf('scripts/cli/main.ts'), ...argumentsOf(args)],
        folder,
        {
          ...places,
          LEDGER_URL: url,
          ...env,
        },
      ),
    bash: (text) => ended('bash', ['-c', text], folder, {}),
    start: async () => {
      service = run(program.service, [], { ...places, PORT: '0' })
      // In either order, since an existing set is served at once.
      await service.says('"message":"listening"')
      await service.says('"message":"serving"')
      url = `http://127.0.0.1:${/"message":"listening".*?"port":(\d+)/.exec(service.output())?.[1]}`
    },
    stop,
    close: async () => {
      await stop()
      rmSync(folder, { recursive: true, force: true })
      program.remove()
    },
  }
}

async function ended(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')))
  await once(child, 'close')
  return { code: child.exitCode, out, err }
}
