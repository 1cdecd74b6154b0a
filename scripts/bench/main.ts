/** `npm run bench -- [suite…] [--quick] [--json <file>]`: measures, prints tables, writes the figures to a file. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { version } from '../../src/contract/version.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { printReport } from './report.ts'
import type { BenchReport } from './report.ts'
import type { Suite, SuiteContext, SuiteReport } from './suite.ts'
import { builder } from './suites/builder.ts'
import { engines } from './suites/engines.ts'
import { images } from './suites/images.ts'
import { lists } from './suites/lists.ts'
import { log } from './suites/log.ts'
import { origin } from './suites/origin.ts'
import { start } from './suites/start.ts'
import { verify } from './suites/verify.ts'
import { visible } from './suites/visible.ts'
import { writes } from './suites/writes.ts'

const suites: Readonly<Record<string, Suite>> = {
  origin,
  builder,
  writes,
  engines,
  verify,
  visible,
  images,
  start,
  lists,
  log,
}
/** sysexits.h EX_USAGE. */
const exitUsage = 64

const {
  values: { quick, json: jsonFile },
  positionals,
} = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(suites, name))
if (unknown.length > 0) {
  const list = entriesOf(suites).map(([name, { about }]) => `  ${name}: ${about}`)
  console.error(`Unknown suite: ${unknown.join(', ')}. Suites:\n${list.join('\n')}`)
  process.exit(exitUsage)
}

// Removed at the end: for minutes after thousands of files were removed, ext4 takes up to ten times as long to create others.
const runDir = mkdtempSync(join(tmpdir(), 'ledger-bench-'))
const reports: Record<string, BenchReport> = {}
try {
  for (const [name, suite] of entriesOf(suites)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    console.error(`${name}: ${suite.about}`)
    const startedMs = performance.now()
    const dir = join(runDir, name)
    mkdirSync(dir)
    const measured = await runSuite(suite, { quick, dir, log: console.error })
    const report = { ...measured, seconds: (performance.now() - startedMs) / 1000 }
    reports[name] = report
    printReport(name, report)
  }
} finally {
  rmSync(runDir, { recursive: true, force: true })
}
if (jsonFile !== undefined) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, memory_bytes: totalmem() }
  const run = { version, quick, measured_at: new Date().toISOString() }
  const json = { ...run, machine: { ...machine, node: process.version }, suites: reports }
  writeFileSync(jsonFile, `${JSON.stringify(json, null, 2)}\n`)
}

/** A suite that fails is reported as skipped, the others run, and the exit code is 1. */
async function runSuite(suite: Suite, context: SuiteContext): Promise<SuiteReport> {
  try {
    return await suite.run(context)
  } catch (error) {
    process.exitCode = 1
    const why = error instanceof Error ? error.message : String(error)
    return { rows: [], skipped: [`the whole suite failed: ${why}`] }
  }
}
