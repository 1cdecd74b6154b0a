/** A specification lists the hashed fields. The work hash is the Keccak-256 of their canonical JSON. */
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'
import { z } from 'zod'

import { canonicalize, isJsonObject } from '../canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical-json.ts'
import { entriesOf } from '../entries.ts'
import { bytesToHex } from '../hex.ts'

export const knownSpecVersions: readonly string[] = ['3.0.0']

const fieldForms = {
  string: z.string().min(1),
  text: z.string(),
  integer: z.int(),
  boolean: z.boolean(),
  array: z.array(z.unknown()),
  url: z.url(),
  path: z.string().regex(/^\/\S*$/),
  time: z.iso.datetime({ offset: true }),
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  bytes32: z.string().regex(/^0x[0-9a-f]{64}$/),
} as const
const fieldForm = z.enum(entriesOf(fieldForms).map(([name]) => name))

export interface ManifestFields {
  readonly [name: string]: z.infer<typeof fieldForm> | ManifestFields
}
const fieldName = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/)
const manifestFields: z.ZodType<ManifestFields> = z.record(
  fieldName,
  z.lazy(() => z.union([fieldForm, manifestFields])),
)

export const pactSpec = z.strictObject({
  spec_version: z.string().max(20),
  manifest_kind: z.string().max(80),
  pact_id: z.int().min(1),
  title: z.string().min(1).max(200),
  chain_id: z.int(),
  contract_address: fieldForms.address,
  /** UTC day after which work is late. */
  deadline: z.iso.date().nullable(),
  canonical_form: z.literal(
    'Keep only the fields named in `fields`, at every level. Write RFC 8785 JSON: sorted members, no white space, UTF-8, no newline at the end.',
  ),
  hash: z.literal('keccak256'),
  fields: manifestFields,
  source: z.string().min(1).max(500),
})
export type PactSpec = z.infer<typeof pactSpec>

const forms: Readonly<Record<z.infer<typeof fieldForm>, z.ZodType>> = fieldForms

export function instanceSchema(
  fields: ManifestFields,
): z.ZodType<Readonly<Record<string, unknown>>> {
  const shape: Record<string, z.ZodType> = {}
  for (const [name, form] of Object.entries(fields)) {
    shape[name] = typeof form === 'string' ? forms[form] : instanceSchema(form)
  }
  return z.object(shape)
}

export function strictStrip(instance: JsonObject, fields: ManifestFields): JsonObject {
  const kept: Record<string, JsonValue> = {}
  for (const [name, form] of Object.entries(fields)) {
    const value = Object.hasOwn(instance, name) ? instance[name] : undefined
    if (value === undefined) continue
    kept[name] = typeof form !== 'string' && isJsonObject(value) ? strictStrip(value, form) : value
  }
  return kept
}

export function canonicalManifest(instance: JsonObject, fields: ManifestFields): string {
  return canonicalize(strictStrip(instance, fields))
}

export function workHashOf(canonicalText: string): string {
  return `0x${bytesToHex(keccak256(new TextEncoder().encode(canonicalText)))}`
}
