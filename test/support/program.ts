import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expectNoSecrets } from './no-secrets.ts'

const repository = new URL('../..', import.meta.url).pathname

export interface Program {
  readonly dir: string
  readonly service: string
  readonly builder: string
  readonly remove: () => void
}

/**
 * The whole program as `npm start` would compile it, in a directory of its own: any Node can run it, and no test sees
 * what another one compiles. `more` are files of the repository that are compiled with it, such as hooks for tests.
 */
export function compileProgram(...more: readonly string[]): Program {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-program-'))
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      outDir: dir,
      rootDir: repository,
      typeRoots: [join(repository, 'node_modules/@types')],
    },
    include: [],
    files: ['src/main.ts', 'builder/main.ts', ...more].map((file) => join(repository, file)),
  }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  for (const name of ['node_modules', 'data', 'public']) {
    symlinkSync(join(repository, name), join(dir, name))
  }
  execFileSync(join(repository, 'node_modules/.bin/tsc'), ['-p', dir], { stdio: 'pipe' })
  return {
    dir,
    service: join(dir, 'src/main.js'),
    builder: join(dir, 'builder/main.js'),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

export interface Running {
  readonly pid: number
  /** Everything written to standard output and standard error so far. */
  readonly output: () => string
  /** Resolves when the output holds the text; rejects when the process ends before. */
  readonly says: (text: string) => Promise<void>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<number | null>
}

/** Runs a script with nothing in its environment but what is given. */
export function run(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const listeners = new Set<() => void>()
  const take = (chunk: Buffer) => {
    output += chunk.toString('utf8')
    for (const listener of listeners) listener()
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const ended = once(child, 'close').then(([code]: (number | null)[]) => {
    expectNoSecrets(output)
    return code ?? null
  })
  return {
    pid: child.pid ?? -1,
    output: () => output,
    says: async (text) => {
      const seen = new Promise<void>((resolve) => {
        const look = () => {
          if (output.includes(text)) resolve()
        }
        listeners.add(look)
        look()
      })
      await Promise.race([seen, ended])
      if (!output.includes(text)) throw new Error(`ended without saying "${text}":\n${output}`)
    },
    kill: (signal) => child.kill(signal),
    ended,
  }
}
