/**
 * `npm run package`: writes `dist/package`, the npm package for other programs: the client for every runtime in one file,
 * and its types. `npm pack` in the root packs the program instead.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

import { build } from 'rolldown'
import { z } from 'zod'

import { contractTypes } from './package/contract-types.ts'

const folder = 'dist/package'
/** Installed with the package, as other programs use them too: no native code. */
const libraries = [
  '@noble/ed25519',
  '@noble/hashes',
  '@noble/post-quantum',
  '@noble/secp256k1',
  'zod',
] as const
const portable = resolve('src/client/portable.ts')
const isReplaced = (id: string) =>
  /^node:timers\/promises$|^@bitauth\/libauth\/.*\/secp256k1\.js$|\/crypto\.ts$/.test(id)

async function writeModule(): Promise<void> {
  await build({
    input: { client: 'src/client/index.ts' },
    platform: 'neutral',
    external: new RegExp(`^(?:${libraries.join('|')})(?:/|$)`),
    plugins: [{ name: 'portable', resolveId: (id) => (isReplaced(id) ? portable : null) }],
    checks: { ineffectiveDynamicImport: false },
    output: { dir: folder, minify: true, codeSplitting: false },
  })
}

/** Copies the declarations that the client needs. One file replaces those of the contract, which zod's types would fill. */
function writeTypes(): void {
  const emitted = mkdtempSync(join(tmpdir(), 'ledger-types-'))
  execFileSync('npx', ['tsc', '-p', 'scripts/package', '--outDir', emitted], { stdio: 'inherit' })
  const copied = new Set<string>()
  const write = (file: string, text: string): void => {
    const target = join(folder, 'types', file.replace(/\.ts$/, '.d.ts'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  const copy = (file: string): void => {
    if (copied.has(file)) return
    copied.add(file)
    const text = readFileSync(join(emitted, file.replace(/\.ts$/, '.d.ts')), 'utf8')
    const rewritten = text.replaceAll(/(?<=from ')[^']*/g, (from) => {
      if (from === 'zod') return from
      if (!from.startsWith('.')) throw new Error(`the types of ${file} need ${from}`)
      const found = join(dirname(file), from)
      if (!found.startsWith('contract/')) copy(found)
      const target = found.startsWith('contract/') ? 'contract.ts' : found
      return `./${relative(dirname(file), target)}`.replace(/\.ts$/, '.js')
    })
    write(file, rewritten)
  }
  copy('client/index.ts')
  write('contract.ts', contractTypes())
  rmSync(emitted, { recursive: true })
}

const versions = z.record(z.string(), z.string())

function writeManifest(): void {
  const own = z
    .looseObject({ dependencies: versions, devDependencies: versions })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const { name, version, license, type, engines } = own
  const known = { ...own.dependencies, ...own.devDependencies }
  const types = './types/client/index.d.ts'
  const manifest = {
    name,
    version,
    description:
      'Typed client of the Agent Income Ledger: reads, checks signatures and signs writes.',
    license,
    type,
    engines,
    sideEffects: false,
    exports: { './client': { types, default: './client.js' } },
    dependencies: Object.fromEntries(libraries.map((one) => [one, `^${known[one] ?? ''}`])),
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  for (const file of ['LICENSE', 'scripts/package/README.md'])
    cpSync(file, join(folder, file.replace(/.*\//, '')))
}

rmSync(folder, { recursive: true, force: true })
await writeModule()
writeTypes()
writeManifest()
