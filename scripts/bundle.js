/**
 * `node scripts/bundle.js <folder> [<source file>…]`: bundles the programs, each under the path of its source, and other
 * files, which share code. A bundle starts in half the time that its modules take. `npm run types` checks the types.
 */
import { readFileSync } from 'node:fs'

import { build } from 'rolldown'

const programs = [
  'src/main.ts',
  'src/auth/check-worker.ts',
  'builder/main.ts',
  'scripts/cli/main.ts',
]
const [dir, ...others] = process.argv.slice(2)
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
/** Loaded as installed: native code is found relative to its own files, and pages offer the text of a package. */
const installed = ['pg-native', ...Object.keys(dependencies)]
const isInstalled = (id) => installed.some((name) => id === name || id.startsWith(`${name}/`))
/** Tools run in a checkout, which has every package. The helpers of the bundler are none. */
const isPackage = (id, importer) => importer !== undefined && /^(?!@oxc-project\/)[^./]/.test(id)

async function bundle(files, external) {
  await build({
    input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), file])),
    platform: 'node',
    external,
    output: {
      dir,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  })
}

await Promise.all(programs.map((file) => bundle([file], isInstalled)))
if (others.length > 0) await bundle(others, isPackage)
