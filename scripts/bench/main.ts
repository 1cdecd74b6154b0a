/** `npm run bench -- [suite…] [--quick] [--json <file>]`: measures, prints a table, writes the figures. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { entriesOf } from '../../src/core/entries.ts'
import { version } from '../../src/version.ts'
import { isMet } from './suite.ts'
import type { Suite, SuiteReport } from './suite.ts'
import { suites } from './suites/index.ts'
import { reportText } from './table.ts'

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

const reports: Record<string, SuiteReport> = {}
/**
 * Removed when all is measured: for some minutes after thousands of files were removed, ext4 takes up to ten times as
 * long to create others, and it would be the next suite that pays.
 */
const dirs: string[] = []
try {
  await runAll()
} finally {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
}
if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(asJson(), null, 2)}\n`)

async function runAll(): Promise<void> {
  for (const [name, suite] of known) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    process.stderr.write(`${name}: ${suite.about}\n`)
    const dir = mkdtempSync(join(tmpdir(), `ledger-bench-${name}-`))
    dirs.push(dir)
    const say = (line: string) => void process.stderr.write(`${line}\n`)
    const report = await suite.run({ quick: flags.quick, dir, say })
    reports[name] = report
    process.stdout.write(`${reportText(name, report)}\n`)
  }
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
    suites: Object.fromEntries(
      Object.entries(reports).map(([name, { rows, skipped, facts }]) => [
        name,
        { rows: rows.map((row) => ({ ...row, met: isMet(row) })), skipped, facts },
      ]),
    ),
  }
}
