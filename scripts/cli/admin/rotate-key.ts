import { join } from 'node:path'

import {
  OWNER_ONLY,
  SIGNING_KEYS_FILE,
  loadKeys,
  newKey,
  openKeys,
  readKeyFile,
  serialise,
} from '../../../src/auth/service-keys.ts'
import type { KeyFile, Keys } from '../../../src/auth/service-keys.ts'
import { isoTime } from '../../../src/core/time.ts'
import { withFileLock } from '../../../src/db/sqlite3/file-lock.ts'
import { replaceFile } from '../../../src/files/durable.ts'

/** Retires the active key, which running processes use until they reload. @throws LockedError */
export async function rotateKey(options: {
  readonly dir: string
  readonly nowMs: number
  readonly keys?: 'create' | 'required'
}): Promise<Keys> {
  await loadKeys(options)
  const path = join(options.dir, SIGNING_KEYS_FILE)
  return await withFileLock(`${path}.lock`, async () => {
    const { active, retired } = await readKeyFile(path)
    const { private_key_pem: _, ...published } = active
    const old = { ...published, retired_at: isoTime(options.nowMs) }
    const next: KeyFile = { active: newKey(options.nowMs, active), retired: [old, ...retired] }
    await replaceFile(path, serialise(next), OWNER_ONLY)
    return openKeys(next)
  })
}
