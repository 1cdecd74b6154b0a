/** `npm run demo`: runs the service with invented data, in a temporary folder unless DATA_DIR is set. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { LedgerError } from '../src/client/errors.ts'
import { demoSettings, prepareDemoFolder, startService } from './demo/folder.ts'

const named = process.env['DATA_DIR']
const parent =
  named === undefined || named === '' ? mkdtempSync(join(tmpdir(), 'ledger-demo-')) : null
const dataDir = parent === null ? String(named) : join(parent, 'data')
try {
  process.stdout.write(`Filling ${dataDir} with an invented ledger …\n`)
  const settings = await demoSettings(dataDir)
  await prepareDemoFolder(settings)
  const service = startService(settings)
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => service.kill('SIGTERM'))
  const ended: unknown[] = await once(service, 'exit')
  process.exitCode = typeof ended[0] === 'number' ? ended[0] : 1
} catch (error) {
  process.stderr.write(`${describe(error)}\n`)
  process.exitCode = 78
} finally {
  if (parent !== null) rmSync(parent, { recursive: true, force: true })
}

function describe(error: unknown): string {
  if (error instanceof LedgerError) return `${error.message}: ${error.details ?? error.code}`
  return error instanceof Error ? error.message : String(error)
}
