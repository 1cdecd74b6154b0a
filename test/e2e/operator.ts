/** Runs `agent-income-ledger admin` in this process on the folders of a ledger. */
import { z } from 'zod'

import { systemClock } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import type { Ledger } from './ledger.ts'

export async function admin(
  { dataDir, publicDir }: Pick<Ledger, 'dataDir' | 'publicDir'>,
  ...args: readonly string[]
): Promise<CommandResult> {
  // Commands repeat a check without waiting.
  const clock = { ...systemClock, sleep: () => Promise.resolve() }
  const places = { DATA_DIR: dataDir, PUBLIC_DIR: publicDir }
  return await runCommand(['admin', ...args], places, { clock })
}

const diagnosis = z.object({
  good: z.boolean(),
  checks: z.array(
    z.object({
      what: z.string(),
      good: z.boolean(),
      detail: z.string(),
      remedy: z.string().optional(),
    }),
  ),
})

export async function diagnose(
  ledger: Pick<Ledger, 'dataDir' | 'publicDir'>,
  ...args: readonly string[]
): Promise<z.infer<typeof diagnosis>> {
  const { code, out } = await admin(ledger, 'doctor', '--json', ...args)
  const report = diagnosis.parse(JSON.parse(out))
  if (report.good !== (code === 0)) throw new Error(`exit code ${code} of ${out}`)
  return report
}
