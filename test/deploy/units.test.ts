/** systemd accepts the units, and package.json and Litestream name the same programs and folders. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { isRunnable } from '../support/runnable.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts servers of the deploy notes')

const names = ['agent-income-ledger.service', 'agent-income-ledger-builder.service'] as const
const manifest = z.object({ scripts: z.object({ start: z.string(), builder: z.string() }) })
const unit = (name: string): string => readFileSync(`scripts/deploy/${name}`, 'utf8')
const valuesOf = (text: string, key: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-units-'))
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

function analyze(name: string, text: string, ...options: readonly string[]): string {
  const file = join(folder, name)
  writeFileSync(file, text.replaceAll('/usr/bin/node', process.execPath))
  const { stdout, stderr } = spawnSync('systemd-analyze', [...options, file], { encoding: 'utf8' })
  // The output also covers units of the machine.
  const lines = `${stdout}${stderr}`.split('\n')
  return lines.filter((line) => line.includes(name)).join('\n')
}

const verify = ['verify', '--man=no'] as const

describe.runIf(isRunnable('systemd-analyze'))('systemd', () => {
  test.each(names)('systemd reports no problem in %s', (name) => {
    expect(analyze(name, unit(name), ...verify)).toBe('')
  })

  test.each(names)('systemd reports an unknown key and a missing program in %s', (name) => {
    const misspelt = unit(name).replace('ProtectClock=', 'ProtectClok=')
    expect(analyze(name, misspelt, ...verify)).toContain("Unknown key 'ProtectClok'")
    const elsewhere = unit(name).replace('/usr/bin/node', '/nowhere/node')
    expect(analyze(name, elsewhere, ...verify)).toContain('/nowhere/node is not executable')
  })

  test.each(names)('systemd rates the exposure of %s below 2 of 10', (name) => {
    const verdict = analyze(name, unit(name), 'security', '--offline=true', '--no-pager')
    const level = /exposure level for \S+ ([\d.]+)/.exec(verdict)?.[1]
    expect(Number(level)).toBeLessThan(2)
  })
})

test('service and builder units run the compiled program in the same folders as the same user', () => {
  const [service, builder] = names.map(unit)
  for (const key of [
    'User',
    'StateDirectory',
    'WorkingDirectory',
    'EnvironmentFile',
    'DynamicUser',
  ]) {
    expect(valuesOf(service ?? '', key)).toHaveLength(1)
    expect(valuesOf(builder ?? '', key)).toEqual(valuesOf(service ?? '', key))
  }
  const places = names.map((name) => /DATA_DIR=\S+ PUBLIC_DIR=\S+/.exec(unit(name))?.[0])
  expect(places[0]).toBe(places[1])
  const scripts = names.flatMap((name) => valuesOf(unit(name), 'ExecStart'))
  const { start, builder: build } = manifest.parse(
    JSON.parse(readFileSync('package.json', 'utf8')),
  ).scripts
  expect(scripts).toEqual(['/usr/bin/node dist/src/main.js', '/usr/bin/node dist/builder/main.js'])
  expect(start).toContain('dist/src/main.js')
  expect(build).toContain('dist/builder/main.js')
})

test('Litestream replicates the database of the units and runs its checkpoints', () => {
  const litestream = readFileSync('scripts/deploy/litestream.yml', 'utf8')
  const [state = ''] = valuesOf(unit(names[0]), 'StateDirectory')
  const dataDir = /DATA_DIR=%S\/(\S+)/.exec(unit(names[0]))?.[1]
  expect(dataDir?.startsWith(`${state}/`)).toBe(true)
  // systemd stores the state of a dynamic user in this folder.
  expect(/path: (\S+)$/m.exec(litestream)?.[1]).toBe(`/var/lib/private/${dataDir}/ledger.db`)
  const keys = [...litestream.matchAll(/^ *(?:- )?([a-z-]+):/gm)].map(([, key]) => key).join(' ')
  expect(keys).toBe(
    'dbs path min-checkpoint-page-count checkpoint-interval busy-timeout replica type bucket path region sync-interval',
  )
  expect(litestream).not.toMatch(/\t/)
})
