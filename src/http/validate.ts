import { z } from 'zod'

import { ApiError } from '../contract/errors.ts'
import { describeIssues } from '../contract/issue-text.ts'

const MAX_DETAILS = 1000

/** @throws ApiError `invalid_input` with an issue for each invalid field */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const forms = formsOf(schema)
  const issues = describeIssues(parsed.error, value, (name) => unknownField(name, forms, value))
  throw new ApiError('invalid_input', choiceOf(forms), { issues })
}

type Form = Readonly<Record<string, 'required' | 'optional'>>

function formsOf(schema: z.ZodType): readonly Form[] {
  if (schema instanceof z.ZodUnion) {
    return schema.options
      .filter((option) => option instanceof z.ZodType)
      .flatMap((option) => formsOf(option))
  }
  if (!(schema instanceof z.ZodObject)) return []
  const fields = Object.entries<z.core.$ZodType>(schema.shape)
  return [
    Object.fromEntries(
      fields.map(([name, field]) => [
        name,
        z.safeParse(field, undefined).success ? 'optional' : 'required',
      ]),
    ),
  ]
}

function choiceOf(forms: readonly Form[]): string | undefined {
  if (forms.length < 2) return undefined
  const needed = forms.map((form) =>
    Object.keys(form)
      .filter((name) => form[name] === 'required')
      .join(', '),
  )
  return `The body must have one of ${forms.length} forms. Required fields: ${needed.join('; or ')}`.slice(
    0,
    MAX_DETAILS,
  )
}

function unknownField(name: string, forms: readonly Form[], value: unknown): string {
  const form = forms.find((candidate) => Object.hasOwn(candidate, name))
  if (form === undefined) {
    const known = [...new Set(forms.flatMap((each) => Object.keys(each)))]
    return known.length === 0 ? 'is unknown' : `is unknown; known fields: ${known.join(', ')}`
  }
  const sent = value instanceof Object ? value : {}
  const partners = Object.keys(form).filter(
    (other) => form[other] === 'required' && !Object.hasOwn(sent, other),
  )
  return partners.length === 0 ? 'is not a field of this form' : `requires ${partners.join(', ')}`
}
