import { describe, expect, test } from 'vitest'

import {
  documentFile,
  formatManifestSignature,
  manifestSchema,
  manifestSetText,
  parseManifestSignature,
} from '../../src/core/documents.ts'

const json = 'application/json'

test.each([
  ['/api/v1/rails', json, 'api/v1/rails.json'],
  ['/api/v1/rails/x402', json, 'api/v1/rails/x402.json'],
  ['/api/v1/rails.csv', 'text/csv; charset=utf-8; header=present', 'api/v1/rails.csv'],
  ['/.well-known/signing-keys.json', json, '.well-known/signing-keys.json'],
  ['/desk/SKILL.md', 'text/markdown; charset=utf-8', 'desk/SKILL.md'],
  ['/', 'text/html; charset=utf-8', 'index.html'],
  ['/rails/x402', 'text/html; charset=utf-8', 'rails/x402.html'],
])('the document %s (%s) is stored in %s', (path, contentType, file) => {
  expect(documentFile(path, contentType)).toBe(file)
})

test.each([
  ['/notes', 'text/plain', 'needs an extension'],
  ['/snapshot', json, 'reserved'],
  ['/snapshot.json.sig', json, 'reserved'],
  ['/a.br', json, 'reserved'],
  ['/a/../b', json, 'cannot be published'],
  ['/a/.git', json, 'cannot be published'],
  ['/a/', json, 'cannot be published'],
  ['//a', json, 'cannot be published'],
  ['/a%2fb', json, 'cannot be published'],
  ['/a b', json, 'cannot be published'],
  ['a', json, 'cannot be published'],
  ['', json, 'cannot be published'],
])('the document path %j (%s) is refused: it %s', (path, contentType, reason) => {
  expect(() => documentFile(path, contentType)).toThrow(reason)
})

test("the manifest's signature line round-trips, and no other text parses as one", () => {
  const signature = `${'A'.repeat(86)}==`
  const line = formatManifestSignature(signature, '0123456789abcdef')
  expect(parseManifestSignature(line)).toEqual({ signature, kid: '0123456789abcdef' })
  for (const bad of ['', line.trim(), line.slice(8), `${line}x`, line.replace(' ', '  ')]) {
    expect(parseManifestSignature(bad)).toBeNull()
  }
})

describe('a manifest', () => {
  const entry = {
    path: '/api/v1/rails',
    file: 'api/v1/rails.json',
    sha256: 'a'.repeat(64),
    size: 2,
    content_type: json,
    max_age: 60,
    signature: `${'A'.repeat(86)}==`,
    kid: '0123456789abcdef',
    changed_at: '2026-11-21T06:00:00.000Z',
    encodings: { br: { sha256: 'b'.repeat(64), size: 1 } },
  }
  const manifest = {
    site_url: 'https://ledger.example',
    version: 1,
    previous: null,
    expires: '2026-11-23T06:00:00.000Z',
    computed_at: '2026-11-21T06:00:00.000Z',
    count: 1,
    documents: [entry],
    set_sha256: 'c'.repeat(64),
  }

  test('a manifest of the right form is accepted', () => {
    expect(manifestSchema.parse(manifest)).toEqual(manifest)
    expect(manifestSetText(manifest.documents)).toBe(`${'a'.repeat(64)}  api/v1/rails.json\n`)
  })

  test.each([
    ['leads out of its directory', { documents: [{ ...entry, file: '../../etc/passwd' }] }],
    ['has a path that leads out', { documents: [{ ...entry, path: '/../etc/passwd' }] }],
    ['counts wrongly', { count: 2 }],
    ['contains a path twice', { count: 2, documents: [entry, entry] }],
    ['has an unknown field', { more: 1 }],
    ['has no time', { computed_at: 'now' }],
  ])('a manifest that %s is refused', (_, change) => {
    expect(manifestSchema.safeParse({ ...manifest, ...change }).success).toBe(false)
  })
})
