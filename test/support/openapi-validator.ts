import { Ajv } from 'ajv'
import type { ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { z } from 'zod'

const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({
    responses: z.record(z.string(), z.unknown()),
    schemas: z.record(z.string(), z.unknown()),
  }),
})

const operation = z.object({ responses: z.record(z.string(), z.unknown()) })
const shared = z.object({ $ref: z.string() })
const response = z.object({
  content: z.record(z.string(), z.object({ schema: z.unknown() })).optional(),
})

export interface OpenApiValidator {
  readonly templateOf: (path: string) => string | null
  /** Differences between a response and its description. */
  readonly problems: (
    path: string,
    status: number,
    contentType: string,
    body: unknown,
    method?: string,
  ) => string[]
}

/** Validates responses against an OpenAPI 3.0.3 document. */
export function openApiValidator(json: unknown): OpenApiValidator {
  const api = document.parse(json)
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addFormat('int64', true)
  ajv.addFormat('int32', true)
  const { schemas } = api.components
  ajv.addSchema({ $id: 'api', components: toJsonSchema({ schemas }) })
  const compiled = new Map<string, ValidateFunction>()

  const templateOf = (path: string) => {
    if (api.paths[path] !== undefined) return path
    const template = Object.keys(api.paths).find((candidate) => {
      const parts = candidate.split(/\{\w+\}/).map((part) => part.replaceAll('.', String.raw`\.`))
      return parts.length > 1 && new RegExp(`^${parts.join('[^/]+?')}$`).test(path)
    })
    return template ?? null
  }

  return {
    templateOf,
    problems: (path, status, contentType, body, method = 'get') => {
      const template = templateOf(path)
      if (template === null) return [`${path} is not described`]
      const described = operation.parse(api.paths[template]?.[method]).responses[String(status)]
      const name = shared.safeParse(described).data?.$ref.split('/').at(-1)
      const { content = {} } = response.parse(
        (name === undefined ? described : api.components.responses[name]) ?? {},
      )
      const media = content[contentType.split(';')[0] ?? '']
      if (media === undefined) return [`${path} ${status} ${contentType} is not described`]
      const key = `${method} ${template} ${status} ${contentType}`
      const validate = compiled.get(key) ?? ajv.compile(absolute(toJsonSchema(media.schema)))
      compiled.set(key, validate)
      return validate(body)
        ? []
        : (validate.errors ?? []).map(
            (error) => `${path}${error.instancePath}: ${error.message ?? ''}`,
          )
    },
  }
}

const jsonObject = z.record(z.string(), z.unknown())

/** OpenAPI 3.0 says `nullable`, JSON Schema says `anyOf` with null. */
export function toJsonSchema(value: unknown): object {
  const nullable = z.object({ nullable: z.literal(true) }).loose()
  const convert = (_: string, member: unknown): unknown => {
    const parsed = nullable.safeParse(member)
    if (!parsed.success) return member
    const { nullable: _said, ...schema } = parsed.data
    return { anyOf: [schema, { type: 'null' }] }
  }
  return jsonObject.parse(JSON.parse(JSON.stringify(value), convert))
}

function absolute(schema: object): object {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/')
  return jsonObject.parse(JSON.parse(text))
}
