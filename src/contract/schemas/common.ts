import { z } from 'zod'

import { maxAmountUsdc } from '../../core/money.ts'
import { memoized } from '../../core/remember.ts'

/** Named models become components of the OpenAPI document and are referred to by `$ref`. */
export const models = z.registry<{ id: string; description?: string }>()

/** Registers a schema as a named model of the contract. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  models.add(schema, { id })
  return schema
}

/** A named object of an answer. `openapi/field-texts.json` describes its fields, by their names. */
export const model = <Fields extends z.ZodRawShape>(id: string, fields: Fields) =>
  named(id, z.object(fields))

/** A named request body, which refuses unknown fields. */
export const bodyModel = <Fields extends z.ZodRawShape>(id: string, fields: Fields) =>
  named(id, z.strictObject(fields))

// Equal schemas are built once, because building them takes most of the start time of the command line.
export const text = memoized((maxLength: number) => z.string().max(maxLength))
export const list = <Item extends z.ZodType>(item: Item, maxLength: number) =>
  z.array(item).max(maxLength)
export const time = z.iso.datetime({ offset: true }).max(35)
export const date = z.iso.date()
export const url = z.url().max(2048)
export const usdc = z.number().min(0).max(maxAmountUsdc)
export const count = z.int().min(0)
/** The parameters of the request, in answers to requests with a query. */
export const query = z.record(z.string(), z.string()).optional()
/** Fields of one page of a list. */
export const pageFields = {
  query,
  count,
  total: count.describe('Number of entries on all pages; lists are counted up to 1,000.'),
  total_is_exact: z.literal(false).optional(),
  next_cursor: z.string().max(200).optional(),
}
export const share = z.number().min(0).max(1)
export const railSlug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be the slug of a rail in lower case, such as x402')
export const sha256Hex = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 lower-case hex digits')
/** EIP-55, Solana base58 or a NEAR implicit account. */
export const wallet = z.string().min(32).max(64)
export const looksLikeAnother = z.literal(true).optional()
export const evidence = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean(), z.null()]),
)

export const limitInput = z.string().regex(/^(?:[1-9]\d?|1\d\d|200)$/, 'must be 1 to 200')
export const cursorInput = z.string().min(1).max(64)
