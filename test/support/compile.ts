import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = new URL('../..', import.meta.url).pathname

export interface Compiled {
  readonly dir: string
  readonly scriptOf: (file: string) => string
  readonly remove: () => void
}

/** Compiles files and what they import into a temporary directory, with links to the folders that the program reads. */
export function compile(...files: readonly string[]): Compiled {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-compiled-'))
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
    files: files.map((file) => join(repository, file)),
  }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  for (const name of ['node_modules', 'data', 'public']) {
    symlinkSync(join(repository, name), join(dir, name))
  }
  execFileSync(join(repository, 'node_modules/.bin/tsc'), ['-p', dir], { stdio: 'pipe' })
  return compiledIn(dir)
}

export function compiledIn(dir: string): Compiled {
  return {
    dir,
    scriptOf: (file) => join(dir, file.replace(/\.ts$/, '.js')),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
