import { readFileSync } from 'node:fs'

import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'

import { bazaarOf } from '../../src/contract/bazaar.ts'
import errorCodes from '../../src/contract/error-codes.json' with { type: 'json' }
import { openApiDocument } from '../../src/contract/openapi.ts'
import { answerExample } from '../../src/contract/openapi/examples.ts'
import parts from '../../src/contract/openapi/parts.json' with { type: 'json' }
import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import {
  acceptedV1,
  acceptedV2,
  acceptsV1,
  acceptsV2,
  decimalUsdc,
  headerLimits,
  identifierExtension,
  microUsdcOf,
  resourceOf,
  termsOf,
} from '../../src/contract/x402.ts'
import { decodeCursor } from '../../src/core/cursor.ts'

function problemsOf(schema: object, value: unknown): readonly unknown[] {
  const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(
    schema,
  )
  return validate(value) ? [] : (validate.errors ?? [])
}

const all: readonly Route[] = routes
const sold = all.flatMap((route) =>
  route.price === undefined ? [] : [{ ...route, price: route.price }],
)
const payTo = '0x52908400098527886E0F7030069857D2E4169EE7'

test('four reads are sold for the listed prices', () => {
  expect(Object.fromEntries(sold.map(({ path, price }) => [path, price]))).toEqual({
    '/api/v1/arbitrage': '0.01',
    '/api/v1/reputation/{wallet}': '0.005',
    '/api/v1/alerts/feed': '0.002',
    '/api/v1/og': '0.001',
  })
})

test('OpenAPI, errors, docs, nginx.conf and Caddyfile have the limits of headers that the service has', () => {
  const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
  const numbers = (file: string, line: RegExp) =>
    [...(line.exec(read(file)) ?? [])].slice(1).map((number) => Number(number) * 1024)
  const { signature, payment, all: total } = headerLimits
  const [ofPayments, ofOld, ofPayer] = parts.requestHeaders.payment.map(
    (one) => one.schema.maxLength,
  )
  expect([ofPayments, ofOld, ofPayer]).toEqual([payment, payment, 2 + 2 * signature])
  expect(errorCodes.headers_too_large.message).toContain(`${total / 1024} KiB`)
  expect(read('data/docs/limits.md')).toContain(
    `up to ${total / 1024} KiB in total, and a payment header ${payment / 1024} KiB`,
  )
  const [lines = 0, line = 0] = numbers(
    'scripts/deploy/nginx.conf',
    /large_client_header_buffers (\d+) (\d+)k;/,
  )
  expect((lines / 1024) * line).toBeGreaterThan(total)
  expect(line).toBeGreaterThan(payment + 'PAYMENT-SIGNATURE: '.length)
  expect(line).toBeLessThan(total)
  const goAdds = 4096
  const [caddy = 0] = numbers('scripts/deploy/Caddyfile', /max_header_size (\d+)KiB/)
  expect(caddy + goAdds).toBe(total)
})

test.each([
  ['0.000001', 1],
  ['0.01', 10_000],
  ['29', 29_000_000],
  ['10', 10_000_000],
  ['999.5', 999_500_000],
])('%s USDC are %i micro-USDC and print as they were', (price, micro) => {
  expect(microUsdcOf(price)).toBe(micro)
  expect(decimalUsdc(micro)).toBe(price)
})

test('zero, negative and malformed amounts are refused as prices', () => {
  for (const price of ['0', '-1', '1e3', '0.0000001', '']) {
    expect(() => microUsdcOf(price)).toThrow('is not a price')
  }
})

describe.each(sold.map((route) => [route.path, route] as const))('%s', (path, route) => {
  const terms = termsOf(route, `https://ledger.test${route.path}`, payTo)

  test(`${path} has the same payment terms in both versions, in the form of the contract`, () => {
    const [one, two] = [
      acceptedV1.parse(acceptsV1({ ...terms, resource: 'https://ledger.test/a' })),
      acceptedV2.parse(acceptsV2(terms)),
    ]
    expect(one.maxAmountRequired).toBe(two.amount)
    expect([one.payTo, one.asset, one.extra]).toEqual([two.payTo, two.asset, two.extra])
    expect(one).not.toHaveProperty('outputSchema')
  })

  test(`${path} has a name, a sentence, tags and an icon that catalogues accept`, () => {
    const { serviceName, description, tags, iconUrl } = resourceOf(terms)
    expect(serviceName).toMatch(/^[\x20-\x7e]{1,32}$/)
    expect(description).toMatch(/^[A-Z][\x20-\x7e]{60,499}\.$/)
    expect(tags.length).toBeLessThanOrEqual(5)
    for (const tag of tags) expect(tag).toMatch(/^[a-z-]{1,32}$/)
    expect(iconUrl).toBe('https://ledger.test/favicon.svg')
  })

  test(`${path} has an extension that catalogues accept, and a payment header under 3 kB`, () => {
    const { outline, complete } = bazaarOf(route)
    for (const { info, schema, routeTemplate } of [outline, complete]) {
      // Catalogues validate the facts against the schema that comes with them.
      expect(problemsOf(schema, info)).toEqual([])
      expect(routeTemplate).toBe(path.includes('{') ? '/api/v1/reputation/:wallet' : undefined)
      expect(schema.properties.input.properties).toHaveProperty('queryParams.properties')
      expect(schema.properties.output.properties.example).toHaveProperty('type')
    }
    const challenge = {
      x402Version: 2,
      error: 'payment_required',
      resource: resourceOf(terms),
      accepts: [acceptsV2(terms)],
      extensions: { bazaar: outline, ...identifierExtension },
    }
    expect(Buffer.from(JSON.stringify(challenge)).toString('base64').length).toBeLessThan(3000)
  })

  test(`${path} shows catalogues the recorded answer, and a schema that refuses others`, () => {
    const { info, schema } = bazaarOf(route).complete
    const { example } = schema.properties.output.properties
    const recorded = answerExample(route.id, 200)
    expect(info.output.example).toEqual(recorded)
    if (recorded === undefined) return
    for (const name of Object.keys(recorded)) {
      const { [name]: _left, ...others } = { ...recorded } as Readonly<Record<string, unknown>>
      const isOptional = name === 'query' || name === 'next_cursor'
      expect([name, problemsOf(example, others).length]).toEqual([name, isOptional ? 0 : 1])
    }
  })

  test(`${path} has examples of parameters that the service accepts`, () => {
    for (const [name, { schema, example }] of Object.entries({ ...route.query, ...route.params })) {
      expect([name, schema.safeParse(example).error]).toEqual([name, undefined])
    }
    const cursor = route.query?.['cursor']?.example
    if (cursor !== undefined) expect(decodeCursor('reputation', cursor)).toBe(123)
  })

  test(`${path} has an example that its own schema accepts`, () => {
    const answer = route.answers[200]
    const example = answerExample(route.id, 200)
    if (example === undefined) {
      expect(answer?.contentType).toBe('image/svg+xml')
      return
    }
    expect(answer?.schema?.safeParse(example).error).toBeUndefined()
  })

  test(`${path} has x-payment-info and the headers of payment and challenge in OpenAPI`, () => {
    const options = { serviceName: 'ledger', siteUrl: 'https://ledger.test', version: '0.1.0' }
    const document = JSON.stringify(openApiDocument([route], options))
    expect(document).toContain(
      `"x-payment-info":{"price":{"mode":"fixed","currency":"USD","amount":"${route.price}"}`,
    )
    // The single offer of draft-payment-discovery-01, in the smallest unit of the token.
    expect(document).toContain(
      `"intent":"charge","method":"x402","amount":"${microUsdcOf(route.price)}","currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`,
    )
    for (const name of [
      'X-PAYMENT',
      'PAYMENT-SIGNATURE',
      'PAYMENT-REQUIRED',
      'X-Accepted-Payment',
      'X-Payment-Receiver',
      'X-Payment-Price-USDC',
      'PAYMENT-RESPONSE',
    ]) {
      expect(document).toContain(`"${name}"`)
    }
  })
})
