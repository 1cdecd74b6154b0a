/** Looks at everything that an installation needs, and changes nothing. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'

import { recomputeScores } from '../../../src/db/score-check.ts'
import { printChecks } from '../checks.ts'
import type { Session } from '../session.ts'
import { verifyDirectory } from '../verify.ts'
import { examine } from './integrity.ts'
import type { Finding } from './integrity.ts'
import { settingsOf, withDatabase } from './settings.ts'

export async function doctor(session: Session): Promise<number> {
  const { DATA_DIR, PUBLIC_DIR } = settingsOf(session)
  const database = await withDatabase(
    session,
    async ({ db }) => [...(await examine(db)), await scores(db)],
    true,
  )
  const checks = [
    ...database,
    await ownerOnly('signing keys', join(DATA_DIR, 'keys')),
    await ownerOnly('signing keys', join(DATA_DIR, 'keys', 'signing-keys.json')),
    await ownerOnly('secret of hashes', join(DATA_DIR, 'secrets', 'hash.key')),
    await published(join(PUBLIC_DIR, 'current')),
  ]
  return printChecks(session, { data_dir: DATA_DIR, public_dir: PUBLIC_DIR }, checks)
}

async function scores(db: Parameters<typeof recomputeScores>[0]): Promise<Finding> {
  const { wallets, differences } = await db.transaction().execute((tx) => recomputeScores(tx))
  const what = 'scores'
  return differences.length === 0
    ? { what, good: true, detail: `${wallets} wallets, each what its entries come to` }
    : { what, good: false, detail: `${differences.length} differ: see admin scores check` }
}

async function ownerOnly(what: string, path: string): Promise<Finding> {
  const found = await stat(path).catch(() => null)
  if (found === null) return { what, good: false, detail: `${path} is missing` }
  const mode = found.mode & 0o777
  const good = process.platform === 'win32' || (mode & 0o077) === 0
  return { what, good, detail: `${path} has mode ${mode.toString(8)}` }
}

async function published(dir: string): Promise<Finding> {
  const what = 'published set'
  if ((await stat(dir).catch(() => null)) === null) {
    return { what, good: false, detail: `${dir} is missing: nothing is published yet` }
  }
  const checks = await verifyDirectory(dir)
  const bad = checks.find(({ good }) => !good)
  return bad === undefined
    ? { what, good: true, detail: `${checks.length - 2} documents, each as it was signed` }
    : { what, good: false, detail: `${bad.what}: ${bad.detail}` }
}
