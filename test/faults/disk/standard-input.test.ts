/** The command line reads a pipe that has no data yet. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { json, useShell } from '../../e2e/shell.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { noInjection } from './inject.ts'

allowSlowTests('starts the compiled program')

const shell = useShell()
const skipped = noInjection === null ? '' : ` (left out: ${noInjection})`

test.skipIf(noInjection !== null)(
  `a command waits for the data of a pipe that does not block${skipped}`,
  async () => {
    const lines = join(shell.folder, 'lines')
    writeFileSync(lines, '{"rail":"a","end":"2026-11-01T00:00:00Z"}\n')
    const command = `${process.execPath} ${shell.program.scriptOf('scripts/cli/main.ts')} rules try -`
    // strace follows the file: every second read of it fails, as if the next data were late.
    const late = `-P ${lines} -e trace=read -e inject=read:error=EAGAIN:when=1+2`
    const ended = await shell.bash(`strace -f -qq -o /dev/null ${late} ${command} < ${lines}`)
    expect(ended).toMatchObject({ code: 0, err: '' })
    expect(json(ended.out)).toMatchObject({ rail: 'a', status: 'dormant' })
  },
)
