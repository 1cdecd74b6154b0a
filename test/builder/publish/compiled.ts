import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = new URL('../../..', import.meta.url).pathname

/**
 * Compiles one file and what it imports, so that a bare node of any version can run it in a process
 * of its own. Answers the directory (to be removed by the caller) and the script in it.
 */
export function compiled(file: string): { dir: string; script: string } {
  const dir = mkdtempSync(join(tmpdir(), 'compiled-'))
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
    files: [join(repository, file)],
  }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  symlinkSync(join(repository, 'node_modules'), join(dir, 'node_modules'))
  execFileSync(join(repository, 'node_modules/.bin/tsc'), ['-p', dir], { stdio: 'pipe' })
  return { dir, script: join(dir, file.replace(/\.ts$/, '.js')) }
}
