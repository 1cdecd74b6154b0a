/** Runs `agent-income-ledger admin` in this process on the folders of a ledger. */
import { z } from 'zod'

import { commands } from '../../scripts/cli/commands.ts'
import { run } from '../../scripts/cli/run.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import type { Ledger } from './ledger.ts'

export interface AdminResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function admin(
  { dataDir, publicDir }: Pick<Ledger, 'dataDir' | 'publicDir'>,
  ...args: readonly string[]
): Promise<AdminResult> {
  let [out, err] = ['', '']
  const code = await run(commands, ['admin', ...args], {
    environment: { DATA_DIR: dataDir, PUBLIC_DIR: publicDir },
    // Commands repeat a check without waiting.
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    random: systemRandom,
    fetch: () => Promise.reject(new Error('admin commands send no requests')),
    write: (text) => (out += text),
    warn: (text) => (err += text),
  })
  return { code, out, err }
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

/** Runs `admin doctor --json`. */
export async function diagnose(
  ledger: Pick<Ledger, 'dataDir' | 'publicDir'>,
  ...args: readonly string[]
): Promise<z.infer<typeof diagnosis>> {
  const { code, out } = await admin(ledger, 'doctor', '--json', ...args)
  const report = diagnosis.parse(JSON.parse(out))
  if (report.good !== (code === 0)) throw new Error(`exit code ${code} of ${out}`)
  return report
}
