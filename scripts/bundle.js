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
const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
// Packages with native code load it relative to their own files.
const native = ['sqlite3', 'sharp', 'pg-native', ...Object.keys(devDependencies)]
const isNative = (id) => native.some((name) => id === name || id.startsWith(`${name}/`))
/** The peers of the benchmark load packages as they are installed. */
const isPeer = (file) => file.includes('/peers/')
const isPackage = (id, importer) => importer !== undefined && /^[^./]/.test(id)

async function bundle(files, external = isNative) {
  await build({
    input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), file])),
    platform: 'node',
    external,
    output: {
      dir,
      sourcemap: true,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  })
}

await Promise.all(programs.map((file) => bundle([file])))
if (others.length > 0) await bundle(others.filter((file) => !isPeer(file)))
if (others.some(isPeer)) await bundle(others.filter(isPeer), isPackage)
