import { z } from 'zod'

import { count, list, model, sha256Hex, text, time } from './common.ts'

/** The database, or a table of it. */
export const exportFileName = z.string().regex(/^(?:ledger\.sqlite|[a-z_]{1,40}\.csv)$/)

export const exportList = model('ExportList', {
  as_of: time.describe('When the rows were read.'),
  set_version: count
    .nullable()
    .describe('Version of the newest manifest at that time; null before the first.'),
  files: list(
    z.object({
      path: text(60),
      content_type: text(60),
      rows: count.nullable().describe('Number of rows; null for the database.'),
      size: count,
      sha256: sha256Hex,
    }),
    100,
  ).describe('The database, and each table as CSV.'),
})
export type ExportList = z.infer<typeof exportList>
