/** `npm run bench -- [suite…] [--quick] [--receipts N] [--json FILE]`: measures, prints tables, and updates the file. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { z } from 'zod'

import { suiteRun, suiteTable } from '../../builder/site/docs/performance.ts'
import type { SuiteRun } from '../../builder/site/docs/performance.ts'
import { isoDate } from '../../src/core/time.ts'
import { fillLedger } from '../../test/support/large-ledger.ts'
import { measure } from './bench.ts'
import type { Stoppable, Suite } from './bench.ts'
import { databaseIn } from './processes.ts'
import * as builds from './suites/builds.ts'
import * as programs from './suites/programs.ts'
import * as reads from './suites/reads.ts'
import * as writes from './suites/writes.ts'

const suites: Readonly<Record<string, Suite>> = { ...reads, ...writes, ...builds, ...programs }
/** Their figures depend on the number of receipts. */
const sized = ['lists', 'visible', 'build', 'log', 'start']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    receipts: { type: 'string' },
    json: { type: 'string' },
  },
})
const { quick, json } = values
const many = (count: number) => (quick ? count / 8 : count)
const receipts = Number(values.receipts ?? (quick ? 10_000 : 1_000_000))
const unknown = positionals.filter((name) => !Object.hasOwn(suites, name))
if (unknown.length > 0 || !Number.isSafeInteger(receipts)) {
  console.error(`Suites: ${Object.keys(suites).join(', ')}; --receipts takes a number`)
  // EX_USAGE of sysexits.h.
  process.exit(64)
}

// Removed at the end: for minutes after thousands of files are deleted, ext4 creates new files up to ten times more slowly.
const runDir = mkdtempSync(join(tmpdir(), 'ledger-bench-'))
const filled = join(runDir, 'large.db')
let filling: Promise<void> | undefined
try {
  for (const [name, suite] of Object.entries(suites)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    const rows = await run(suite, mkdtempSync(join(runDir, name)))
    if (rows.length === 0) continue
    const measured: SuiteRun = {
      suite: name,
      receipts: sized.includes(name) ? receipts : null,
      measuredOn: isoDate(Date.now()),
      quick,
      node: process.versions.node,
      cores: availableParallelism(),
      cpu: cpus()[0]?.model ?? 'unknown',
      rows,
    }
    console.log(`${suiteTable([measured]).md}\n`)
    if (json !== undefined) update(json, measured)
  }
} finally {
  rmSync(runDir, { recursive: true, force: true })
}

/** After a failure the other suites still run, and the exit code is 1. */
async function run(suite: Suite, dir: string): Promise<SuiteRun['rows']> {
  const servers: Stoppable[] = []
  const running = async <Server extends Stoppable>(starting: Promise<Server>) => {
    const server = await starting
    servers.unshift(server)
    return server
  }
  const fill = async () => {
    filling ??= fillLedger(filled, receipts)
    await filling
    cpSync(filled, databaseIn(dir))
  }
  try {
    const rows: SuiteRun['rows'] = []
    for (const bench of await suite({ many, receipts, dir, fill, running })) {
      console.error(bench.what)
      rows.push(...(await measure(bench, quick ? 2 : 5)))
    }
    return rows
  } catch (error) {
    process.exitCode = 1
    console.error(error)
    return []
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** Replaces the measurement of the same suite and size. */
function update(file: string, added: SuiteRun): void {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '[]'
  const kept = z
    .array(suiteRun)
    .parse(JSON.parse(text))
    .filter(({ suite, receipts }) => suite !== added.suite || receipts !== added.receipts)
  writeFileSync(file, `${JSON.stringify([...kept, added], null, 2)}\n`)
}
