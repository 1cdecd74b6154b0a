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

/**
 * The program as `npm start` would run it, in a directory of its own: a test may change what lies beside the code. The
 * directory is a copy of what the suite compiled once, together with the hooks that tests load into it.
 */
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
  /** All output so far. */
  readonly output: () => string
  /** Resolves once the output contains the text; rejects when the process exits first. */
  readonly says: (text: string) => Promise<void>
  /** The first match in later output lines; rejects when the process exits first. */
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

/** The same for a program other than Node. */
export function runCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const child = spawn(command, args, {
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
          // Without this, long output would be searched repeatedly.
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
