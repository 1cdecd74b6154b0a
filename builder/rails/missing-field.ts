/** Finds fields that a source has renamed or dropped: adapters would count them as nothing. */
import { z } from 'zod'

const rare = z.registry<Record<string, never>>()

/** An optional field that a whole list may lack. */
export function rareField<Field extends z.ZodType>(field: Field) {
  const optional = field.nullish()
  rare.add(optional, {})
  return optional
}

/** The path of an optional field that no item of a list has; null if there is none. Alternatives of a union are not compared. */
export function missingField(shape: z.core.$ZodType, value: unknown): string | null {
  return missingIn(shape, [value], '')
}

function missingIn(
  shape: z.core.$ZodType,
  values: readonly unknown[],
  path: string,
  isList = false,
): string | null {
  if (shape instanceof z.ZodPipe) return missingIn(shape.in, values, path, isList)
  if (
    shape instanceof z.ZodOptional ||
    shape instanceof z.ZodNullable ||
    shape instanceof z.ZodCatch
  )
    return missingIn(shape.unwrap(), values, path, isList)
  if (shape instanceof z.ZodArray) {
    const items = values.flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : []))
    return missingIn(shape.element, items, path, true)
  }
  if (!(shape instanceof z.ZodObject)) return null
  const objects = values.flatMap((value) =>
    typeof value === 'object' && value !== null ? [value] : [],
  )
  const fields: Readonly<Record<string, z.core.$ZodType>> = shape.shape
  for (const [name, field] of Object.entries(fields)) {
    const at = path === '' ? name : `${path}.${name}`
    const found = objects
      .map((one: object): unknown => Reflect.get(one, name))
      .filter((one) => one !== undefined)
    const isMissing = isList && objects.length > 0 && found.length === 0
    if (isMissing && !rare.has(field)) return at
    const inner = missingIn(field, found, at, isList)
    if (inner !== null) return inner
  }
  return null
}
