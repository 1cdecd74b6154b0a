/** Runs the command line in child processes against a running service. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect } from 'vitest'
import { z } from 'zod'

import { installProgram, run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'

/** Arguments; a string is split at its spaces. */
export type CommandLine = string | readonly string[]

const argumentsOf = (line: CommandLine): readonly string[] =>
  typeof line === 'string' ? line.split(' ') : line

type Answer = Record<string, unknown>
const answer = z.record(z.string(), z.unknown())

export const json = (text: string): Answer => answer.parse(JSON.parse(text))

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Shell {
  readonly program: Program
  readonly folder: string
  readonly dataDir: string
  readonly url: () => string
  /** Runs the command line with the address of the service in its environment. */
  readonly cli: (args: CommandLine, env?: Readonly<Record<string, string>>) => Promise<Ended>
  /** Runs the command line with `--json` and expects success. Returns the answer. */
  readonly done: (args: CommandLine, env?: Readonly<Record<string, string>>) => Promise<Answer>
  /** Creates a wallet and a receipt key. Returns the settings that name their files. */
  readonly newWallet: (name: string) => Promise<Record<string, string>>
  readonly bash: (text: string) => Promise<Ended>
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A command line for the tests of the calling file. @param settings further ones of the service */
export function useShell(settings: Readonly<Record<string, string>> = {}): Shell {
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
  afterAll(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
    program.remove()
  })
  const cli: Shell['cli'] = (args, env = {}) => {
    const script = [program.scriptOf('scripts/cli/main.ts'), ...argumentsOf(args)]
    return ended(process.execPath, script, folder, { ...places, LEDGER_URL: url, ...env })
  }
  const done: Shell['done'] = async (line, env) => {
    const args = [...argumentsOf(line), '--json']
    const { code, out, err } = await cli(args, env)
    expect({ args, code, err }).toMatchObject({ code: 0, err: '' })
    return json(out)
  }
  return {
    program,
    folder,
    dataDir,
    url: () => url,
    cli,
    done,
    newWallet: async (name) => {
      const files = [join(folder, `${name}.json`), join(folder, `${name}-receipts.json`)] as const
      await done(`keygen ${files[0]} --kind evm`)
      await done(`keygen ${files[1]} --kind ed25519`)
      return { LEDGER_KEY_FILE: files[0], LEDGER_RECEIPT_KEY_FILE: files[1] }
    },
    bash: (text) => ended('bash', ['-c', text], folder, {}),
    start: async () => {
      service = run(program.service, [], { ...places, ...settings, PORT: '0' })
      // In either order, since an existing set is served at once.
      await service.says('"message":"listening"')
      await service.says('"message":"serving"')
      url = `http://127.0.0.1:${/"message":"listening".*?"port":(\d+)/.exec(service.output())?.[1]}`
    },
    stop,
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
