/** `npm run bench -- [suite…] [--quick]`: measures and prints tables. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { entriesOf } from '../../src/core/entries.ts'
import { measure } from './bench.ts'
import type { Stoppable, Suite } from './bench.ts'
import { builder } from './suites/builder.ts'
import { checks } from './suites/checks.ts'
import { documents } from './suites/documents.ts'
import { edge } from './suites/edge.ts'
import { lists } from './suites/lists.ts'
import { log } from './suites/log.ts'
import { payments } from './suites/payments.ts'
import { recompute } from './suites/recompute.ts'
import { start } from './suites/start.ts'
import { visible } from './suites/visible.ts'
import { writes } from './suites/writes.ts'

const suites = {
  documents,
  edge,
  builder,
  visible,
  writes,
  checks,
  payments,
  start,
  lists,
  log,
  recompute,
}

const {
  values: { quick },
  positionals,
} = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(suites, name))
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. Suites: ${Object.keys(suites).join(', ')}`)
  // EX_USAGE of sysexits.h.
  process.exit(64)
}

// Removed at the end: for minutes after thousands of files are deleted, ext4 creates new files up to ten times more slowly.
const runDir = mkdtempSync(join(tmpdir(), 'ledger-bench-'))
try {
  for (const [name, suite] of entriesOf(suites)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    console.error(`${name}: ${suite.about}`)
    const startedMs = performance.now()
    const rows = await run(suite, join(runDir, name))
    console.log(`\n## ${name}, ${Math.round((performance.now() - startedMs) / 1000)} s\n`)
    console.table(rows)
  }
} finally {
  rmSync(runDir, { recursive: true, force: true })
}

/** After a failure the other suites still run, and the exit code is 1. */
async function run(suite: Suite, dir: string): Promise<readonly object[]> {
  const servers: Stoppable[] = []
  const running = async <Server extends Stoppable>(starting: Promise<Server>) => {
    const server = await starting
    servers.unshift(server)
    return server
  }
  const rows: object[] = []
  try {
    mkdirSync(dir)
    for (const bench of await suite.prepare({ quick, dir, running })) {
      console.error(`  ${bench.what}`)
      rows.push(...(await measure(bench, quick ? 2 : 7)))
    }
  } catch (error) {
    process.exitCode = 1
    console.error(error)
  } finally {
    for (const server of servers) await server.stop()
  }
  return rows
}
