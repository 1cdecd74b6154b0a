/** `npm run bench -- [suite…] [--quick] [--json <file>]`: measures, prints a table, writes the figures. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { version } from '../../src/contract/version.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { sharing } from './shared.ts'
import { stopwatch } from './spent.ts'
import type { Spent } from './spent.ts'
import { isMet } from './suite.ts'
import type { Suite, SuiteContext, SuiteReport } from './suite.ts'
import { suites } from './suites/index.ts'
import { overviewText, reportText } from './table.ts'

/** sysexits.h EX_USAGE. */
const exitUsage = 64

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
})
const known = entriesOf<Record<keyof typeof suites, Suite>>(suites)
const unknown = positionals.filter((name) => !Object.hasOwn(suites, name))
if (unknown.length > 0) {
  const list = known.map(([name, { about }]) => `  ${name}: ${about}`).join('\n')
  process.stderr.write(`There is no suite ${unknown.join(', ')}. There are:\n${list}\n`)
  process.exit(exitUsage)
}

interface Run extends SuiteReport {
  readonly spent: Spent
}

const runs: Record<string, Run> = {}
/**
 * Removed when all is measured: for some minutes after thousands of files were removed, ext4 takes up to ten times as
 * long to create others, and it would be the next suite that pays.
 */
const dirs: string[] = []
const whole = stopwatch()
try {
  await runAll()
} finally {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
}
process.stdout.write(`${overviewText(runs, whole())}\n`)
if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(asJson(), null, 2)}\n`)

async function runAll(): Promise<void> {
  const shared = sharing(newDir)
  for (const [name, suite] of known) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    process.stderr.write(`${name}: ${suite.about}\n`)
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const spent = stopwatch()
    const report = await reportOf(suite, { quick: flags.quick, dir: newDir(name), say, shared })
    const run = { ...report, spent: spent() }
    runs[name] = run
    process.stdout.write(`${reportText(name, run, run.spent)}\n`)
  }
}

/** What fails in one suite costs the others nothing, and the exit code says that something did. */
async function reportOf(suite: Suite, context: SuiteContext): Promise<SuiteReport> {
  try {
    return await suite.run(context)
  } catch (error) {
    process.exitCode = 1
    const why = error instanceof Error ? error.message : String(error)
    return { rows: [], skipped: [{ what: 'the whole suite', why: `it failed: ${why}` }], facts: {} }
  }
}

function newDir(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `ledger-bench-${name}-`))
  dirs.push(dir)
  return dir
}

function asJson(): object {
  const [cpu] = cpus()
  return {
    version,
    quick: flags.quick,
    measured_at: new Date().toISOString(),
    machine: {
      cpus: cpus().length,
      model: cpu?.model ?? 'unknown',
      memory_bytes: totalmem(),
      node: process.version,
    },
    spent: whole(),
    suites: Object.fromEntries(
      Object.entries(runs).map(([name, { rows, skipped, facts, spent }]) => [
        name,
        { rows: rows.map((row) => ({ ...row, met: isMet(row) })), skipped, facts, spent },
      ]),
    ),
  }
}
