import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

import { compiledIn } from './compile.ts'
import type { Compiled } from './compile.ts'
import { expectNoSecrets, neverLogSecretsOf } from './no-secrets.ts'

export interface Program extends Compiled {
  readonly service: string
  readonly builder: string
}

/** Copies the compiled program, with the hooks of tests, into a directory that the test may change. */
export function installProgram(): Program {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-program-'))
  cpSync(inject('compiledProgram'), dir, { recursive: true, verbatimSymlinks: true })
  const program = compiledIn(dir)
  return {
    ...program,
    service: program.scriptOf('src/main.ts'),
    builder: program.scriptOf('builder/main.ts'),
  }
}

export interface Running {
  readonly pid: number
  readonly output: () => string
  /** Resolves when the output contains the text; rejects if the process exits first. */
  readonly says: (text: string) => Promise<void>
  /** Resolves with the first match in later lines; rejects if the process exits first. */
  readonly next: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<number | null>
}

/** Runs a script with the given environment only. */
export function run(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  return runCommand(process.execPath, [script, ...args], env)
}

export function runCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Running {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const listeners = new Set<(chunk: string) => void>()
  const take = (chunk: Buffer) => {
    const text = chunk.toString('utf8')
    output += text
    for (const listener of listeners) listener(text)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const ended = once(child, 'close').then(([code]: (number | null)[]) => {
    neverLogSecretsOf(env)
    expectNoSecrets(output)
    return code ?? null
  })
  return {
    pid: child.pid ?? -1,
    output: () => output,
    says: async (text) => {
      const seen = new Promise<void>((resolve) => {
        const look = () => {
          if (!output.includes(text)) return
          // A listener that stays would search long output again and again.
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
      })
      await Promise.race([seen, ended])
      if (!output.includes(text)) throw new Error(`ended without saying "${text}":\n${output}`)
    },
    next: async (pattern) => {
      const seen = new Promise<RegExpExecArray>((resolve) => {
        let rest = ''
        const look = (chunk: string) => {
          rest += chunk
          const match = pattern.exec(rest)
          rest = rest.slice(rest.lastIndexOf('\n') + 1)
          if (match === null) return
          listeners.delete(look)
          resolve(match)
        }
        listeners.add(look)
      })
      const match = await Promise.race([seen, ended])
      if (match === null || typeof match === 'number') throw new Error(`ended without ${pattern}`)
      return match
    },
    kill: (signal) => child.kill(signal),
    ended,
  }
}
