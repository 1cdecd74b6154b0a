import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import { contentTypeOf } from '../publish/assets.ts'
import type { PublicDocument } from '../publish/document.ts'

const resolve = createRequire(import.meta.url)

/** The file of each module in `/assets/vendor`. */
const files = [['noble-ed25519.js', '@noble/ed25519']] as const

const maxAgeSeconds = 86_400

export function createVendored(): () => Promise<readonly PublicDocument[]> {
  let read: readonly PublicDocument[] | null = null
  return async () => (read ??= await readVendored())
}

export async function readVendored(): Promise<PublicDocument[]> {
  return await Promise.all(
    files.map(async ([file, module]) => {
      const text = await readFile(resolve.resolve(module), 'utf8')
      const body = { text: text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=[^\n]*\n?$/, '\n') }
      const described = { path: `/assets/vendor/${file}`, contentType: contentTypeOf(file) }
      return { ...described, maxAgeSeconds, body, archive: null }
    }),
  )
}
