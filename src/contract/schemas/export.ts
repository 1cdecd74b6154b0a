import { z } from 'zod'

import { count, list, model, sha256Hex, text, time } from './common.ts'

/** The database, or a table of it. */
export const exportFileName = z.string().regex(/^(?:ledger\.sqlite|[a-z_]{1,40}\.csv)$/)

export const exportList = model('ExportList', {
  as_of: time.describe('When the rows were read.'),
  set_version: count.nullable(),
  files: list(
    z.object({
      path: text(60),
      content_type: text(60),
      rows: count.nullable(),
      size: count,
      sha256: sha256Hex,
    }),
    100,
  ),
})
export type ExportList = z.infer<typeof exportList>
