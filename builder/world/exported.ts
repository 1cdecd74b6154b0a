import { exportList } from '../../src/contract/schemas/export.ts'
import type { ExportList } from '../../src/contract/schemas/export.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import type { Db } from '../../src/db/schema.ts'

const KEY = 'export'

/** Null before the first export, and for one that another version of the code described. */
export async function lastExport(db: Db): Promise<ExportList | null> {
  const text = await getMeta(db, KEY)
  return text === null ? null : (exportList.safeParse(JSON.parse(text)).data ?? null)
}

export async function saveExport(db: Db, list: ExportList): Promise<void> {
  await setMeta(db, KEY, canonicalize(list))
}
