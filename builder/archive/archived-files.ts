import { prettySorted } from '../../src/core/canonical-json.ts'
import { documentFile } from '../../src/core/documents.ts'
import type { PublicDocument } from '../publish/document.ts'

/** Facts as pretty-printed JSON with sorted keys. `known` caches texts. */
export function archivedFiles(
  documents: readonly PublicDocument[],
  known: WeakMap<PublicDocument, string> = new WeakMap(),
): Map<string, string> {
  const files = new Map<string, string>()
  for (const document of documents) {
    const { path, contentType, archive } = document
    if (archive === null) continue
    const text =
      typeof archive === 'string' ? archive : (known.get(document) ?? prettySorted(archive))
    known.set(document, text)
    files.set(documentFile(path, contentType), text)
  }
  return files
}
