/** Rules of the code that the linter cannot express, and planted violations that the linter must report. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { version } from '../src/contract/version.ts'

const root = new URL('..', import.meta.url).pathname

const readText = (name: string) => readFileSync(join(root, name), 'utf8')

interface Line {
  readonly file: string
  readonly text: string
  readonly before: string
}

function linesOf(...folders: readonly string[]): Line[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .flatMap((name) => {
        const lines = readText(join(folder, name)).split('\n')
        return lines.map((text, at) => ({
          file: `${folder}/${name}`,
          text,
          before: lines[at - 1] ?? '',
        }))
      }),
  )
}

function found(lines: readonly Line[], pattern: RegExp): string[] {
  return lines
    .filter(({ text }) => pattern.test(text))
    .map(({ file, text }) => `${file}: ${text.trim()}`)
}

describe('the source', () => {
  const program = linesOf('src', 'builder')

  it('the source reads the time only from the injected clock', () => {
    expect(found(program, /\bnew Date\(\s*\)|\bDate\(\)|\bprocess\.hrtime\(/)).toEqual([])
  })

  it('the source uses no global object that the linter cannot see', () => {
    expect(found(program, /\bglobalThis\b|\bglobal\./)).toEqual([])
  })

  it('the source uses no AbortSignal.timeout, whose timer can be garbage-collected', () => {
    expect(found(program, /\bAbortSignal\.timeout\b/)).toEqual([])
  })

  it('the source never imports its own files dynamically, which the folder rules would miss', () => {
    expect(found(program, /\bimport\(\s*['"`]\.|\brequire\(/)).toEqual([])
  })

  it('the service loads slow packages lazily', () => {
    // A client of the library signs at once.
    const service = linesOf('src').filter(({ file }) => !file.includes('/client'))
    const slow =
      /^import (?!type )[^']*from '(?:nodemailer|sharp|viem|@bitauth|@modelcontextprotocol)\b.*/gm
    const text = service.map((line) => line.text).join('\n')
    expect(text.match(slow) ?? []).toEqual([])
  })

  it('the source has classes only for errors and the database driver', () => {
    const classes = found(program, /^(?:export )?(?:abstract )?class /)
    const others = classes.filter((line) => !/ extends \w*Error\b|^src\/db\//.test(line))
    expect(others).toEqual([])
  })

  it('the source contains no reminders for later', () => {
    const everything = linesOf('src', 'builder', 'test', 'scripts')
    expect(found(everything, /\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b/)).toEqual([])
  })

  it('the source suppresses compiler and linter only with a reason', () => {
    const everything = linesOf('src', 'builder', 'test', 'scripts')
    const silenced = everything.filter(({ text }) => /\/\/ @ts-(?!expect-error -- )/.test(text))
    const unreasoned = everything.filter(
      ({ text, before }) =>
        /^\s*(?:\/\/|\/\*) oxlint-disable/.test(text) &&
        !text.includes(' -- ') &&
        !/^\s*\/\//.test(before),
    )
    expect([...silenced, ...unreasoned].map(({ file, text }) => `${file}: ${text}`)).toEqual([])
  })
})

/** First-level folders below `src` and `builder`, or files at their root, by the ones they import. */
function folderImports(lines: readonly Line[]): Map<string, Set<string>> {
  const place = (file: string) => file.split('/').slice(0, 2).join('/')
  const imports = new Map<string, Set<string>>()
  for (const { file, text } of lines) {
    const target = /(?:from|import)\s+'(\.[^']+)'/.exec(text)?.[1]
    if (target === undefined) continue
    const [from, to] = [place(file), place(join(dirname(file), target))]
    if (from !== to) imports.set(from, (imports.get(from) ?? new Set()).add(to))
  }
  return imports
}

/** Folders that can be reached from themselves. */
function foldersInCycles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reachable = (from: string) => {
    const seen = new Set<string>()
    const visit = (folder: string) => {
      for (const next of imports.get(folder) ?? [])
        if (!seen.has(next)) visit(seen.add(next) && next)
    }
    visit(from)
    return seen
  }
  return [...imports.keys()].filter((folder) => reachable(folder).has(folder)).toSorted()
}

describe('the folders', () => {
  const program = linesOf('src', 'builder')

  it('folders import each other in one direction only', () => {
    expect(foldersInCycles(folderImports(program))).toEqual([])
  })

  it('a planted import that closes a cycle of folders is reported', () => {
    const text = "import { routes } from '../contract/routes.ts'"
    const planted = [...program, { file: 'src/core/plant.ts', text, before: '' }]
    expect(foldersInCycles(folderImports(planted))).toEqual(['src/contract', 'src/core'])
  })
})

it('exported type names are unique in the project', () => {
  const names = linesOf('src', 'builder', 'scripts')
    .map(({ text }) => /^export (?:declare )?(?:interface|type|class) (\w+)/.exec(text)?.[1])
    .filter((name) => name !== undefined)
  expect(names.filter((name, at) => names.indexOf(name) !== at).toSorted()).toEqual([])
})

it('the tests mock no module, skip nothing and retry nothing', () => {
  const tests = linesOf('test')
  expect(found(tests, /\bvi\.(?:mock|doMock)\(/)).toEqual([])
  expect(found(tests, /\b(?:it|test|describe)\.(?:only|skip|todo|fails)\b/)).toEqual([])
  expect(found(tests, /\bretry: [1-9]/)).toEqual([])
})

describe('SECURITY.md', () => {
  it('SECURITY.md lists existing test files for each promise', () => {
    const [text = ''] = readText('SECURITY.md').split('## Shared resources')
    const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.includes('---'))
    const named = rows.slice(1).map((row) => {
      const cell = row.split(' | ').at(-1) ?? ''
      return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')
    })
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((names) => names.length === 0)).toEqual([])
    const isThere = (name: string) =>
      [name, `${name}.test.ts`].some((file) => existsSync(join(root, 'test', file)))
    expect(named.flat().filter((name) => !isThere(name))).toEqual([])
  })
})

describe('ARCHITECTURE.md and CONTRIBUTING.md', () => {
  it('ARCHITECTURE.md and CONTRIBUTING.md name files that exist', () => {
    const named = ['ARCHITECTURE.md', 'CONTRIBUTING.md'].flatMap((name) => {
      return [...readText(name).matchAll(/`((?:src|builder|scripts|test|data)\/[\w./-]+)`/g)].map(
        ([, path]) => path ?? '',
      )
    })
    expect(named.length).toBeGreaterThan(50)
    // Runtime state, made by the first start.
    const missing = named.filter((path) => path !== 'data/run' && !existsSync(join(root, path)))
    expect(missing).toEqual([])
  })
})

it('the version is the same in package.json, the lockfile, the program and the changelog', () => {
  const versionIn = (name: string) =>
    z.object({ version: z.string() }).parse(JSON.parse(readText(name))).version
  const newest = /^## \[(\d+\.\d+\.\d+)\]/m.exec(readText('CHANGELOG.md'))?.[1]
  const versions = [versionIn('package.json'), versionIn('package-lock.json'), newest]
  expect(versions).toEqual([version, version, version])
})

/** A file that violates a rule, and the rule that the linter must report. */
interface Plant {
  readonly file: string
  readonly code: string
  readonly rule: string
}

const importing = (file: string, from: string): Plant => ({
  file,
  code: `import { thing } from '${from}'\n\nexport const other = thing\n`,
  rule: 'no-restricted-imports',
})
const breaking = (rule: string, code: string, file = 'src/plant.ts') => ({ file, code, rule })
const partner = "import { partner } from './partner.ts'\n\nexport const plant = () => partner\n"
const partnerType =
  "import type { Partner } from './partner.ts'\n\nexport const plant = (it: Partner) => it\n"
const restricted = 'no-restricted-properties'
const home = 'export const home = () => process.env.HOME\n'
const fetches = 'export const get = () => fetch("/")\n'
const says = "export const say = () => console.log('x')\n"

const plants: Readonly<Record<string, Plant>> = {
  'the service imports the builder': importing('src/app.ts', '../builder/thing.ts'),
  'an entry of the service imports the builder': importing('src/main.ts', '../builder/thing.ts'),
  'http imports the builder': importing('src/http/plant.ts', '../../builder/thing.ts'),
  'core imports the builder': importing('src/core/plant.ts', '../../builder/thing.ts'),
  'the builder imports http': importing('builder/plant.ts', '../src/http/thing.ts'),
  'an adapter imports actions': importing('builder/rails/plant.ts', '../../src/actions/thing.ts'),
  'the builder imports the app': importing('builder/plant.ts', '../src/app.ts'),
  'core imports Node': importing('src/core/plant.ts', 'node:fs'),
  'core imports a part of Node': importing('src/core/plant.ts', 'node:fs/promises'),
  'core imports the database': importing('src/core/plant.ts', '../db/thing.ts'),
  'core imports a chain library': importing('src/core/plant.ts', 'viem'),
  'core imports another cryptographic library': importing('src/core/plant.ts', '@noble/ed25519'),
  'the contract imports the database': importing('src/contract/plant.ts', '../db/thing.ts'),
  'a schema imports http': importing('src/contract/schemas/plant.ts', '../../http/thing.ts'),
  'the database imports http': importing('src/db/plant.ts', '../http/thing.ts'),
  'auth imports actions': importing('src/auth/plant.ts', '../actions/thing.ts'),
  'payments import http': importing('src/payments/plant.ts', '../http/thing.ts'),
  'actions import http': importing('src/actions/plant.ts', '../http/thing.ts'),
  'actions import the framework': importing('src/actions/plant.ts', 'hono'),
  'http imports the driver': importing('src/http/plant.ts', 'sqlite3'),
  'the builder imports the driver': importing('builder/plant.ts', 'sqlite3'),
  'publishing imports the world': importing('builder/publish/plant.ts', '../world/thing.ts'),
  'an adapter imports the world': importing('builder/rails/plant.ts', '../world/thing.ts'),
  'the world imports documents': importing('builder/world/plant.ts', '../documents/thing.ts'),
  'documents import the site': importing('builder/documents/plant.ts', '../site/thing.ts'),
  'a page imports a job': importing('builder/site/docs/plant.ts', '../../jobs/thing.ts'),
  'the program imports a test': importing('src/plant.ts', '../test/thing.ts'),
  'the builder imports a script': importing('builder/plant.ts', '../scripts/thing.ts'),
  'two modules import each other': breaking('no-cycle', partner),
  'two modules import types of each other': breaking('no-cycle', partnerType),
  'code reads the clock': breaking(restricted, 'export const at = () => Date.now()\n'),
  'code uses Math.random': breaking(restricted, 'export const chance = () => Math.random()\n'),
  'code uses the global fetch': breaking('no-restricted-globals', fetches),
  'the builder reads the environment': breaking('no-process-env', home, 'builder/plant.ts'),
  'code writes to the console': breaking('no-console', says),
  'a module has a default export': breaking('no-default-export', 'export default 1\n'),
  'code uses any': breaking('no-explicit-any', 'export const all: any = 1\n'),
}

const diagnostics = z.object({
  diagnostics: z.array(z.object({ code: z.string().optional(), filename: z.string() })),
})

describe('the linter reports when', () => {
  const entries = Object.entries({ ...plants, '': innocent })
  /** Rules that the linter reported, by the name of the plant. One run checks all plants. */
  const reported = new Map<string, readonly string[]>()

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-lint-'))
    for (const name of ['.oxlintrc.json', 'tsconfig.json'])
      cpSync(join(root, name), join(folder, name))
    const files = entries.map(([, { file, code }], at) => {
      // Entry points keep their name, since rules exempt them by it.
      const planted = file.replace('plant.ts', `plant-${at}.ts`)
      const partner = join(dirname(file), `partner-${at}.ts`)
      mkdirSync(dirname(join(folder, planted)), { recursive: true })
      writeFileSync(join(folder, planted), code.replace('./partner.ts', `./partner-${at}.ts`))
      writeFileSync(join(folder, partner), partnerOf(at))
      return planted
    })
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format=json'], {
      cwd: folder,
      encoding: 'utf8',
    })
    rmSync(folder, { recursive: true, force: true })
    const found = diagnostics.parse(JSON.parse(stdout)).diagnostics
    for (const [at, [name]] of entries.entries()) {
      const rules = found
        .filter(({ filename }) => filename === files[at])
        .map(({ code: rule = '' }) => rule.replace(/^.*\(|\)$/g, ''))
      reported.set(name, rules)
    }
  })

  it.each(Object.entries(plants))('the linter reports when %s', (name, { rule }) => {
    expect(reported.get(name)).toContain(rule)
  })

  it('the linter reports nothing when no rule is broken', () => {
    expect(reported.get('')).toEqual([])
  })
})

const innocent: Plant = { file: 'src/core/plant.ts', code: 'export const plant = 1\n', rule: '' }

function partnerOf(at: number): string {
  return `import { plant } from './plant-${at}.ts'\n\nexport type Partner = typeof plant\nexport const partner = () => plant\n`
}
