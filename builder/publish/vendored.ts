import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import type { PublicDocument } from './document.ts'

const resolve = createRequire(import.meta.url)

const files = [
  {
    path: '/assets/vendor/swagger-ui-bundle.js',
    module: 'swagger-ui-dist/swagger-ui-bundle.js',
    contentType: 'text/javascript; charset=utf-8',
  },
  {
    path: '/assets/vendor/swagger-ui.css',
    module: 'swagger-ui-dist/swagger-ui.css',
    contentType: 'text/css; charset=utf-8',
  },
  {
    path: '/assets/vendor/noble-ed25519.js',
    module: '@noble/ed25519',
    contentType: 'text/javascript; charset=utf-8',
  },
] as const

const maxAgeSeconds = 86_400

export function createVendored(): () => Promise<readonly PublicDocument[]> {
  let read: readonly PublicDocument[] | null = null
  return async () => (read ??= await readVendored())
}

export async function readVendored(): Promise<PublicDocument[]> {
  return await Promise.all(
    files.map(async ({ path, module, contentType }) => {
      const text = await readFile(resolve.resolve(module), 'utf8')
      const body = { text: text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=[^\n]*\n?$/, '\n') }
      return { path, contentType, maxAgeSeconds, body, archive: null }
    }),
  )
}
