/** Rounds of about a minute, each with its own seed and database. */
import { expect, test } from 'vitest'

import { installBoardProgram } from '../e2e/board.ts'
import { useProgram } from '../e2e/ledger.ts'
import { countersOf } from '../simulation/random.ts'
import { startPostgres } from '../support/postgres.ts'
import { counted, runRound } from './round.ts'

const roundMs = 60_000
const minutes = Number(process.env['CLUSTER_MINUTES'] ?? '1')
const firstSeed = Number(process.env['CLUSTER_SEED'] ?? '1')
const shownLines = 120

const program = useProgram(installBoardProgram)

test('three replicas and two builders on one PostgreSQL keep what they acknowledge while they are killed', async () => {
  const postgres = await startPostgres()
  const totals = countersOf(counted)
  try {
    for (let seed = firstSeed; seed < firstSeed + minutes; seed += 1) {
      const forMs = Math.min(roundMs, minutes * roundMs)
      const round = await runRound(program, { seed, forMs, server: postgres.url })
      for (const name of counted) totals[name] += round.tally[name]
      const { operations, attempts } = round.tally
      process.stdout.write(
        `CLUSTER_SEED=${seed}: ${operations} operations in ${attempts} attempts, ${round.differences.length} differences\n`,
      )
      const history = round.lines.slice(-shownLines).map((line) => line.slice(0, 400))
      expect(round.differences, history.join('\n')).toEqual([])
    }
    expect(totals.taken).toBeGreaterThan(0)
    expect(totals['sets compared']).toBeGreaterThan(0)
  } finally {
    await postgres.stop()
    const counts = Object.entries(totals).flatMap(([name, count]) =>
      count === 0 ? [] : [`${count} ${name}`],
    )
    process.stdout.write(`cluster: ${counts.join(', ')}\n`)
  }
})
