/** `npm run bench -- [suite…] [--quick] [--json <file>]`: measures, prints tables, writes the figures to a file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { version } from '../../src/contract/version.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { startStopwatch } from './processes.ts'
import { overviewText, reportText } from './report.ts'
import type { TimedReport } from './report.ts'
import { isMet } from './suite.ts'
import type { Suite, SuiteContext, SuiteReport } from './suite.ts'
import { builder } from './suites/builder.ts'
import { images } from './suites/images.ts'
import { limiter } from './suites/limiter.ts'
import { origin } from './suites/origin.ts'
import { overload } from './suites/overload.ts'
import { pages } from './suites/pages.ts'
import { payments } from './suites/payments.ts'
import { receipts } from './suites/receipts.ts'
import { start } from './suites/start.ts'
import { verify } from './suites/verify.ts'
import { visible } from './suites/visible.ts'
import { writes } from './suites/writes.ts'

const suites: Readonly<Record<string, Suite>> = {
  origin,
  builder,
  pages,
  writes,
  overload,
  verify,
  visible,
  images,
  limiter,
  start,
  payments,
  receipts,
}
/** sysexits.h EX_USAGE. */
const exitUsage = 64

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
})
const unknown = positionals.filter((name) => !Object.hasOwn(suites, name))
if (unknown.length > 0) {
  const list = entriesOf(suites).map(([name, { about }]) => `  ${name}: ${about}`)
  process.stderr.write(`Unknown suite: ${unknown.join(', ')}. Suites:\n${list.join('\n')}\n`)
  process.exit(exitUsage)
}

/**
 * All directories are removed at the end of the run: for some minutes after thousands of files were removed, ext4 takes up
 * to ten times as long to create others, which the next suite would pay for.
 */
const dirs: string[] = []
const sharedDirs = new Map<string, Promise<string>>()
const reports: Record<string, TimedReport> = {}
const whole = startStopwatch()
try {
  for (const [name, suite] of entriesOf(suites)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    log(`${name}: ${suite.about}`)
    const spent = startStopwatch()
    const context = { quick: flags.quick, dir: newDir(name), log, sharedDir }
    const measured = await runSuite(suite, context)
    const facts = { ...measured.facts, node: process.version }
    const report = { ...measured, facts, spent: spent() }
    reports[name] = report
    process.stdout.write(`${reportText(name, report)}\n`)
  }
} finally {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
}
process.stdout.write(`${overviewText(reports, whole())}\n`)
if (flags.json !== undefined) {
  writeFileSync(flags.json, `${JSON.stringify(jsonReport(), null, 2)}\n`)
}

/** A suite that fails is reported as skipped, the others run, and the exit code is 1. */
async function runSuite(suite: Suite, context: SuiteContext): Promise<SuiteReport> {
  try {
    return await suite.run(context)
  } catch (error) {
    process.exitCode = 1
    const why = error instanceof Error ? error.message : String(error)
    return { rows: [], skipped: [{ what: 'the whole suite', why: `it failed: ${why}` }], facts: {} }
  }
}

function log(line: string): void {
  process.stderr.write(`${line}\n`)
}

function newDir(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `ledger-bench-${name}-`))
  dirs.push(dir)
  return dir
}

function sharedDir(name: string, fill: (dir: string) => Promise<void>): Promise<string> {
  const make = async () => {
    const dir = newDir(name)
    await fill(dir)
    return dir
  }
  const shared = sharedDirs.get(name) ?? make()
  sharedDirs.set(name, shared)
  return shared
}

function jsonReport(): object {
  return {
    version,
    quick: flags.quick,
    measured_at: new Date().toISOString(),
    machine: {
      cpus: cpus().length,
      model: cpus()[0]?.model ?? 'unknown',
      memory_bytes: totalmem(),
      node: process.version,
    },
    spent: whole(),
    suites: Object.fromEntries(
      entriesOf(reports).map(([name, report]) => [
        name,
        { ...report, rows: report.rows.map((row) => ({ ...row, met: isMet(row) })) },
      ]),
    ),
  }
}
