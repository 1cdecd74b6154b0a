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
  /** Everything written to standard output and standard error so far. */
  readonly output: () => string
  /** Resolves when the output holds the text; rejects when the process ends before. */
  readonly says: (text: string) => Promise<void>
  /** The first match in what is written from now on, line by line; rejects when the process ends before. */
  readonly next: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<number | null>
}

/** Runs a script with nothing in its environment but what is given. */
export function run(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  return runCommand(process.execPath, [script, ...args], env)
}

/** The same for another program than Node, such as one that starts Node and watches it. */
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
          // Or it would look through all of a long output again and again.
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
