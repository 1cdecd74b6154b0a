/** The OpenAPI description as generators read it. */
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256 } from '../../src/auth/messages.ts'
import { verifySignature } from '../../src/auth/schemes.ts'
import { errorCodes } from '../../src/contract/errors.ts'
import { openApiDocument } from '../../src/contract/openapi.ts'
import { answerExample, bodyExample } from '../../src/contract/openapi/examples.ts'
import type { OpenApiJson, OpenApiObject } from '../../src/contract/openapi/json.ts'
import { routes } from '../../src/contract/routes.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { toJsonSchema } from '../support/openapi-validator.ts'

const document = openApiDocument(routes, {
  serviceName: 'agent-income-ledger',
  siteUrl: 'https://ledger.test',
  version: '0.1.0',
})
const schemas = member(member(document, 'components'), 'schemas')

function isObject(value: OpenApiJson | undefined): value is OpenApiObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function member(value: OpenApiObject, name: string): OpenApiObject {
  const found = value[name]
  if (!isObject(found)) throw new Error(`no ${name}`)
  return found
}

/** Every object in the document with its path. */
function* objectsIn(value: OpenApiJson, path: string): Generator<[path: string, OpenApiObject]> {
  if (isObject(value)) yield [path, value]
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (name !== 'example') yield* objectsIn(inner, `${path}/${name}`)
  }
}

test('every property in OpenAPI is described', () => {
  const properties = [...objectsIn(schemas, '')].flatMap(([path, { properties: found }]) =>
    isObject(found)
      ? Object.entries(found).map(([name, value]) => [`${path}/${name}`, value] as const)
      : [],
  )
  expect(properties.length).toBeGreaterThan(700)
  const undescribed = properties.filter(
    ([, value]) => !isObject(value) || (!value['$ref'] && !value['description']),
  )
  expect(undescribed.map(([path]) => path)).toEqual([])
})

interface JsonMedia {
  readonly schema: OpenApiJson
  readonly example: OpenApiJson
}

function jsonOf({ content }: OpenApiObject): JsonMedia | null {
  const media = isObject(content) ? content['application/json'] : undefined
  return isObject(media)
    ? { schema: media['schema'] ?? {}, example: media['example'] ?? null }
    : null
}

const idOf = ({ operationId }: OpenApiObject) => z.string().parse(operationId)
const operations = Object.values(member(document, 'paths')).flatMap((path) =>
  Object.values(isObject(path) ? path : {}).filter(isObject),
)

test('every JSON body and answer in OpenAPI has an example that its schema accepts', () => {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  for (const name of ['int64', 'int32']) ajv.addFormat(name, true)
  const refersTo = (value: OpenApiJson) =>
    toJsonSchema(
      JSON.parse(JSON.stringify(value).replaceAll('"#/components/', '"api#/components/')),
    )
  ajv.addSchema({ $id: 'api', components: toJsonSchema({ schemas }) })
  const answers = operations.flatMap((operation) =>
    Object.entries(member(operation, 'responses')).map(
      ([status, answer]) => [`${idOf(operation)} ${status}`, answer] as const,
    ),
  )
  const bodies = operations.flatMap((operation) => {
    const { requestBody } = operation
    return requestBody === undefined ? [] : [[`body of ${idOf(operation)}`, requestBody] as const]
  })
  const shared = Object.entries(member(member(document, 'components'), 'responses'))
  const withoutExample: string[] = []
  for (const [name, described] of [...answers, ...bodies, ...shared]) {
    const media = isObject(described) ? jsonOf(described) : null
    if (media === null) continue
    if (media.example === null) withoutExample.push(name)
    const validate = ajv.compile(refersTo(media.schema))
    if (media.example !== null) validate(media.example)
    expect(validate.errors ?? null, name).toBeNull()
  }
  expect(bodies.length).toBeGreaterThan(20)
  // No demo ledger has a database that cannot be written.
  expect(withoutExample).toEqual(['getHealth 503'])
})

test('in OpenAPI every usual error is a shared answer, whose example has a code of its status', () => {
  const shared = member(member(document, 'components'), 'responses')
  const refs = operations.flatMap((operation) =>
    Object.entries(member(operation, 'responses')).flatMap(([status, answer]) => {
      const ref = isObject(answer) ? answer['$ref'] : undefined
      if (typeof ref !== 'string') return []
      return [{ status, name: ref.slice('#/components/responses/'.length) }]
    }),
  )
  expect(refs.length).toBeGreaterThan(700)
  expect(new Set(refs.map(({ name }) => name))).toEqual(new Set(Object.keys(shared)))
  for (const { status, name } of refs) {
    const { example } = jsonOf(member(shared, name)) ?? {}
    const { code } = z
      .object({ code: z.enum(entriesOf(errorCodes).map(([key]) => key)) })
      .parse(example)
    expect([name, String(errorCodes[code].status)]).toEqual([name, status])
  }
})

test('OpenAPI names the message of each signature in a body, and its example is signed so', async () => {
  const bodies = routes.flatMap(({ id, signs }) => {
    const body = z.record(z.string(), z.unknown()).parse(bodyExample(id) ?? {})
    if (body['signature'] === undefined) expect([id, signs]).toEqual([id, undefined])
    return body['signature'] === undefined ? [] : [{ id, signs, body }]
  })
  expect(bodies.length).toBe(8)
  const anyObject = z.record(z.string(), z.unknown())
  const signup = anyObject.parse(answerExample('signupPartner', 201))
  for (const { id, signs = '', body } of bodies) {
    const answer = anyObject.parse(answerExample(id, 200))
    const values: Readonly<Record<string, unknown>> = {
      WALLET: body['wallet'],
      TIMESTAMP: body['timestamp'],
      BODY_SHA256: bodySha256(body),
      URL: body['url'],
      HANDLE: answer['handle'],
      JOB_ID: answer['job_id'],
      OLD_WALLET: signup['wallet'],
      NEW_WALLET: body['wallet'],
    }
    const message = signs
      .replace('<service>', 'agent-income-ledger-demo')
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name]))
    const [wallet, signature] = [parseWallet(String(body['wallet'])), String(body['signature'])]
    expect([id, await verifySignature({ message, signature, wallet })]).toEqual([
      id,
      expect.objectContaining({ valid: true }),
    ])
    const described = operations.find(({ operationId }) => operationId === id)
    expect(described).toMatchObject({
      'x-signed-message': signs.replace('<service>', 'agent-income-ledger'),
    })
  }
})

test('in OpenAPI every JSON answer has a schema, every limit is an integer, and no enum is null alone', () => {
  for (const [path, found] of objectsIn(document, '')) {
    const json = isObject(found['content']) ? found['content']['application/json'] : undefined
    if (json !== undefined) expect(isObject(json) && json['schema'], path).toBeTypeOf('object')
    expect(found['enum'], path).not.toEqual([null])
    if (found['in'] === 'query' && found['name'] === 'limit') {
      expect(found['schema'], path).toMatchObject({ type: 'integer', minimum: 1, maximum: 200 })
    }
  }
})
