import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'
import { tempFolder } from '../db/temp-database.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts and kills processes')

const root = new URL('../..', import.meta.url).pathname

/** The child as plain JavaScript, so that it runs on every Node; inside node_modules, to find packages. */
function compileChild(): string {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'kill-child-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { noEmit: false, rootDir: root, outDir: folder },
    include: [],
    files: [join(root, 'test/db/kill-child.ts')],
  }
  const project = join(folder, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(settings))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project])
  return join(folder, 'test/db/kill-child.js')
}

/** Runs the child, kills it after so many acknowledgements, and answers all that were read. */
async function acknowledgedBeforeKill(
  script: string,
  path: string,
  firstKey: number,
  killAfter: number,
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [script, path, String(firstKey)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  let lines = 0
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    lines += chunk.split('\n').length - 1
    if (lines >= killAfter) child.kill('SIGKILL')
  }
  return text.split('\n').slice(0, -1)
}

test('after each of 25 kills, every acknowledged write is complete and the file is intact', async () => {
  const script = compileChild()
  const path = join(tempFolder(), 'ledger.db')
  const acknowledged = new Set<string>()
  for (let kill = 0; kill < 25; kill += 1) {
    const killAfter = 1 + ((kill * 37) % 200)
    const keys = await acknowledgedBeforeKill(script, path, kill * 1_000_000, killAfter)
    expect(keys.length).toBeGreaterThanOrEqual(killAfter)
    for (const key of keys) acknowledged.add(key)

    const { reader, close } = await openDatabase({ url: path, quickCheck: true })
    const rows = await reader.selectFrom('meta').select('key').execute()
    const present = new Set(rows.map((row) => row.key))
    const integrity = await sql`pragma integrity_check`.execute(reader)
    await close()
    expect([...acknowledged].filter((key) => !present.has(key))).toEqual([])
    expect(
      [...present].filter((key) => !key.endsWith(' twin') && !present.has(`${key} twin`)),
    ).toEqual([])
    expect(integrity.rows).toEqual([{ integrity_check: 'ok' }])
  }
})
