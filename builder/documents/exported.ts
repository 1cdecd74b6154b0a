import { jsonDocument, snapshotFamily } from './document.ts'

/** `/export.json`: the newest files with all public data; not archived. */
export const exportDocuments = snapshotFamily(['getExport'], ['exported'], function* (world) {
  if (world.exported !== null) yield jsonDocument('getExport', world.exported, { archive: null })
})
