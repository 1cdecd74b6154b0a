import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = new URL('../..', import.meta.url).pathname

export interface Compiled {
  readonly dir: string
  readonly scriptOf: (file: string) => string
  readonly remove: () => void
}

/** Bundles programs into a temporary directory, with links to the folders that the program reads. */
export function compile(...files: readonly string[]): Compiled {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-compiled-'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  mkdirSync(join(dir, 'builder/site'), { recursive: true })
  for (const name of ['node_modules', 'data', 'builder/site/static']) {
    symlinkSync(join(repository, name), join(dir, name))
  }
  const bundle = ['scripts/bundle.js', join(dir, 'dist'), ...files]
  execFileSync(process.execPath, bundle, { cwd: repository, stdio: 'pipe' })
  return compiledIn(dir)
}

export function compiledIn(dir: string): Compiled {
  return {
    dir,
    scriptOf: (file) => join(dir, 'dist', file.replace(/\.ts$/, '.js')),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
