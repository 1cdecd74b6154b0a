import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { beforeAll } from 'vitest'

const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

/** Installs packages of the npm registry into a folder, for the tests of the calling file. */
export function usePackages(...packages: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-packages-'))
  beforeAll(async () => {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    await promisify(execFile)('npm', ['install', ...options, ...packages], { cwd: folder })
    return () => rmSync(folder, { recursive: true, force: true })
  }, 300_000)
  const load = createRequire(join(folder, 'index.js'))
  return { folder, load: (name: string): unknown => load(name) }
}
