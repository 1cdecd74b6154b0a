/** Requests against one operation of `/openapi.json`: planned from its description, then signed and encoded. */
import { createHash } from 'node:crypto'
import { brotliCompressSync, gzipSync } from 'node:zlib'

import fc from 'fast-check'

import type { OathKind } from '../../../src/actions/reference.ts'
import { bodySha256, fillOath, messages } from '../../../src/auth/messages.ts'
import { routes } from '../../../src/contract/routes.ts'
import { microPerUsdc } from '../../../src/core/money.ts'
import { isoTime, minuteMs } from '../../../src/core/time.ts'
import { partnerHeaders, receiptSignature, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { paymentV1, paymentV2, signAuthorization } from '../../support/x402-payment.ts'
import { changed, jsonText, textOf } from './json-text.ts'
import type { Change, JsonText } from './json-text.ts'
import { payer, platformKey, workerKey } from './target.ts'
import type { Target } from './target.ts'
import { changes, hostileString, naughty, valuesOf } from './values.ts'
import type { Dictionary } from './values.ts'

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly schema: unknown
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** The path template. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** Null where it takes no body. */
  readonly body: unknown
  readonly requiresPartner: boolean
}

type Header = readonly [name: string, value: string]

interface Payment {
  readonly version: 1 | 2
  readonly name: 'X-PAYMENT' | 'PAYMENT-SIGNATURE'
  readonly changes: readonly Change[]
  readonly spelling: keyof typeof paymentForms
}

type Credentials = keyof typeof credentialForms

/** A request without its signatures and times, which are added when it is sent. */
export interface Plan {
  readonly method: string
  readonly path: string
  readonly headers: readonly Header[]
  readonly credentials: Credentials
  readonly form: 'bearer' | 'headers'
  readonly binding: 'path' | 'body'
  /** Index of the signing wallet; wraps around. */
  readonly signer: number
  readonly payment: Payment | null
  readonly body: JsonText | null
  readonly bytes: keyof typeof byteForms
  /** True: the same bytes are sent twice. */
  readonly isRepeated: boolean
}

const HUGE_BYTES = 70_000

/** Spellings of a body. */
const byteForms = {
  'as is': (body) => body,
  cut: (body) => body.subarray(0, -1),
  'byte order mark': (body) => Buffer.concat([Buffer.from('\uFEFF'), body]),
  'text after': (body) => Buffer.concat([body, Buffer.from(' {}')]),
  'not UTF-8': (body) =>
    Buffer.concat([body.subarray(0, -2), Buffer.from([0xc3, 0x28]), body.subarray(-2)]),
  NUL: (body) => Buffer.concat([body, Buffer.from([0])]),
  'UTF-16': (body) => Buffer.from(body.toString('utf8'), 'utf16le'),
  empty: () => Buffer.alloc(0),
  gzip: (body) => gzipSync(body),
  brotli: (body) => brotliCompressSync(body),
  huge: (body) => Buffer.concat([body, Buffer.alloc(HUGE_BYTES, ' ')]),
  list: (body) => Buffer.concat([Buffer.from('['), body, Buffer.from(']')]),
  twice: (body) => Buffer.concat([body, body]),
  comment: (body) => Buffer.concat([Buffer.from('/* */'), body]),
} as const satisfies Readonly<Record<string, (body: Buffer) => Buffer>>

const replaceValues = (headers: readonly Header[], replace: (value: string) => string) =>
  headers.map(([name, value]): Header => [name, replace(value)])

/** Spellings of the headers of the partner bearer; some forms sign other facts and keep the headers. */
const credentialForms = {
  good: (headers) => headers,
  old: (headers) => headers,
  ahead: (headers) => headers,
  'other path': (headers) => headers,
  'other method': (headers) => headers,
  'other service': (headers) => headers,
  none: () => [],
  words: () => [['Authorization', 'Bearer please']],
  basic: () => [['Authorization', 'Basic YWRtaW46YWRtaW4=']],
  huge: (_, { address }) => [['Authorization', `Bearer ${address}:0x${'ab'.repeat(3500)}`]],
  lower: (headers) =>
    headers.map(([name, value]) => [name.toLowerCase(), value.replace('Bearer', 'bearer')]),
  cut: (headers) => replaceValues(headers, (value) => value.slice(0, -1)),
  flipped: (headers) =>
    headers.map(([name, value]) =>
      name === 'X-Partner-Timestamp'
        ? [name, value]
        : [name, value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ),
  'other wallet': (headers, { address }) =>
    replaceValues(headers, (value) => value.replace(address, `0x${'52'.repeat(20)}`)),
  'no time': (headers) => headers.filter(([name]) => name !== 'X-Partner-Timestamp'),
  half: (headers) => headers.slice(1),
  twice: (headers) => [...headers, ...headers],
  'both forms': (headers, { address }) => [
    ...headers,
    ['X-Partner-Wallet', address],
    ['Authorization', 'Bearer a:b'],
  ],
} as const satisfies Readonly<
  Record<string, (headers: readonly Header[], signer: TestWallet) => readonly Header[]>
>

/** Spellings of a payment header. */
const paymentForms = {
  good: (text) => [base64(text)],
  twice: (text) => [base64(text), base64(text)],
  'url-safe': (text) => [text.toString('base64url').slice(0, 7000)],
  cut: (text) => [base64(text).slice(0, -3)],
  plain: (text) => [flat(text.toString('utf8')).slice(0, 3000)],
  bytes: () => [Buffer.from(naughty[nonces % naughty.length] ?? '').toString('base64')],
  huge: () => ['A'.repeat(7200)],
  empty: () => [''],
} as const satisfies Readonly<Record<string, (text: Buffer) => readonly string[]>>

const base64 = (text: Buffer): string => text.toString('base64').slice(0, 7000)

const namesOf = <Name extends string>(forms: Readonly<Record<Name, unknown>>): readonly Name[] =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the record says so.
  Object.keys(forms) as Name[]

const rarely = <T>(usual: T, others: readonly T[], weight = 8): fc.Arbitrary<T> =>
  fc.oneof(
    { weight, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )

const flat = (text: string): string => text.replaceAll(/[\r\n\0]/g, ' ')

const strayHeader = fc.constantFrom<Header>(
  ['Accept', 'application/json'],
  ['Accept', 'text/html, */*;q=0.1'],
  ['Accept-Encoding', 'br;q=0, gzip;q=0, identity;q=0'],
  ['Accept-Encoding', 'gzip'],
  ['If-None-Match', '*'],
  ['If-None-Match', '"x'],
  ['If-Modified-Since', 'Sat, 21 Nov 2099 05:30:15 GMT'],
  ['Range', 'bytes=0-0,-1,5-2'],
  ['Origin', 'https://evil.example'],
  ['Cookie', 'session=1; __proto__=1'],
  ['X-Forwarded-For', '127.0.0.1, ::1, <script>'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Content-Encoding', 'gzip'],
  ['Content-Digest', 'sha-256=:AAAA:'],
  ['Content-Digest', 'md5=:AAAA:, unixsum=:AA==:'],
  ['Content-Digest', 'sha-256'],
  ['Date', 'Sat, 21 Nov 2026 06:00:00 GMT'],
  ['Date', 'yesterday'],
  ['Idempotency-Key', '"one key"'],
  ['Idempotency-Key', 'bare-key'],
  ['Idempotency-Key', '"open'],
  ['Idempotency-Key', 'k'.repeat(300)],
  ['Expect', '100-continue'],
  ['Expect', 'the-impossible'],
  ['Upgrade', 'h2c'],
  ['Prefer', 'respond-async'],
)

/** Headers that the operation ignores, and known headers in invalid spellings. */
const strayHeaders: fc.Arbitrary<readonly Header[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: strayHeader },
    hostileString.map((text): Header => ['X-Stray', flat(text).slice(0, 500)]),
    hostileString.map((text): Header => ['Idempotency-Key', flat(text).slice(0, 300)]),
    hostileString.map((text): Header => ['User-Agent', flat(text).slice(0, 300)]),
  ),
  { maxLength: 2 },
)

const contentTypes = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  '',
  'multipart/form-data; boundary=x',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/json;charset="utf-8"',
  'application/problem+json',
  'application/json;a=b',
] as const

const payments: fc.Arbitrary<Payment> = fc.record({
  version: fc.constantFrom(1, 2),
  name: fc.constantFrom('X-PAYMENT', 'PAYMENT-SIGNATURE'),
  changes,
  spelling: rarely<Payment['spelling']>('good', namesOf(paymentForms), 3),
})

/** Plans for an operation. `known` contains ids and names that exist. */
export function plansFor(
  operation: Operation,
  schemas: Readonly<Record<string, unknown>>,
  known: Dictionary,
): fc.Arbitrary<Plan> {
  const values = valuesOf(schemas, known)
  const inside = (place: string) => operation.parameters.filter((one) => one.in === place)
  const takesPayment = operation.parameters.some(({ name }) => name === 'X-PAYMENT')
  return fc.record({
    method:
      operation.method === 'GET' ? rarely('GET', ['HEAD'], 20) : fc.constant(operation.method),
    path: pathsFor(operation.path, inside('path'), inside('query'), values),
    headers: fc
      .tuple(strayHeaders, rarely('application/json', contentTypes, 12))
      .map(([stray, type]): readonly Header[] =>
        operation.body === null ? stray : [...stray, ['Content-Type', type]],
      ),
    credentials: operation.requiresPartner
      ? rarely<Credentials>('good', namesOf(credentialForms), 4)
      : rarely<Credentials>('none', ['good', 'words'], 20),
    form: fc.constantFrom('bearer', 'headers'),
    binding: fc.constantFrom('path', 'body'),
    signer: rarely(rightfulSigner[operation.id] ?? 0, [1, 2, 3, 4, 5, 6, 7], 2),
    payment: takesPayment ? fc.option(payments) : fc.constant(null),
    body:
      operation.body === null
        ? rarely<JsonText | null>(null, [{ members: [] }, 'x'], 12)
        : fc
            .tuple(values.of(operation.body), changes)
            .map(([body, hostile]) => changed(body, hostile)),
    bytes: rarely<Plan['bytes']>('as is', namesOf(byteForms), 10),
    isRepeated: rarely(false, [true], 8),
  })
}

/** Index of the wallet that may make the request; by default the poster of the job. */
const rightfulSigner: Readonly<Record<string, number>> = {
  bidOnJob: 2,
  deliverJob: 1,
  getDelivery: 1,
  getArbitrage: 7,
  getAlertFeed: 7,
  getCard: 7,
  getReputation: 7,
  signupPartner: 4,
}

function pathsFor(
  template: string,
  parameters: readonly Parameter[],
  queries: readonly Parameter[],
  values: ReturnType<typeof valuesOf>,
): fc.Arbitrary<string> {
  const text = ({ name, schema }: Parameter) =>
    fc.oneof(
      {
        weight: 16,
        arbitrary: values.of(schema, name).map((value) => encoded(wordOf(value)).slice(0, 2000)),
      },
      { weight: 1, arbitrary: hostileString.map((value) => encoded(value).slice(0, 2000)) },
      { weight: 1, arbitrary: fc.constantFrom(...rawSegments) },
    )
  const filled = fc.tuple(...parameters.map(text)).map((found) => {
    const queue = [...found]
    return template.replaceAll(/\{\w+\}/g, () => queue.shift() ?? '')
  })
  const queried = fc.tuple(
    ...queries.map((query) =>
      fc.option(text(query), { nil: undefined }).map((value) => ({ name: query.name, value })),
    ),
  )
  const stray = rarely(
    '',
    ['__proto__=1', 'limit=1&limit=2', '%zz', '=&=&', 'constructor[x]=1', 'x'],
    19,
  )
  return fc.tuple(filled, queried, stray).map(([path, pairs, more]) => {
    const query = [
      ...pairs.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}=${value}`])),
      ...(more === '' ? [] : [more]),
    ].join('&')
    return query === '' ? path : `${path}?${query}`
  })
}

const wordOf = (value: JsonText): string => (typeof value === 'string' ? value : jsonText(value))

/** Path segments that are sent unencoded; malformed ones are refused before the route is looked up. */
const rawSegments = [
  '%2e%2e',
  '..',
  '.',
  '%00',
  '%zz',
  '%C0%AE',
  '%FF',
  '%5C',
  '%2F..%2F',
  '%252e',
  '~',
  ';a=b',
  '*',
  "'or'1'='1",
  '(select(1))',
  '$where',
  '{{7*7}}',
  '${7*7}',
  '<script>',
  '|id',
  '%0D%0AX-Injected:1',
] as const

function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/[\uD800-\uDFFF]/gu, '?'))
}

/** The bytes of a request, and its credentials, which no log may contain. */
export interface Rendered {
  readonly bytes: Buffer
  readonly path: string
  readonly credentials: readonly string[]
}

let nonces = 0

export async function render(target: Target, operation: Operation, plan: Plan): Promise<Rendered> {
  const { service } = target
  // A new time for each request makes every message unique.
  service.clock.advance(1)
  const all = [...target.wallets.values()]
  const signer = all[plan.signer % all.length]
  if (signer === undefined) throw new Error('there is no wallet')
  const [path = ''] = plan.path.split('?')
  const body = plan.body === null ? null : await encodedBody(target, operation, plan, signer, path)
  const credentials = await credentialsOf(plan, signer, {
    path,
    bytes: body ?? Buffer.alloc(0),
    nowMs: service.clock.now(),
  })
  const paid = plan.payment === null ? [] : await paymentOf(target, operation, plan.payment)
  const headers: Header[] = [
    ['Host', 'ledger.test'],
    ...plan.headers,
    ...credentials,
    ...paid,
    ...(body === null ? [] : [['Content-Length', String(body.length)] as const]),
    ['Connection', 'close'],
  ]
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${plan.method} ${plan.path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'utf8')
  return {
    bytes: body === null ? head : Buffer.concat([head, body]),
    path,
    credentials: [...credentials, ...paid].map(([, value]) => value),
  }
}

async function encodedBody(
  target: Target,
  operation: Operation,
  plan: Plan,
  signer: TestWallet,
  path: string,
): Promise<Buffer> {
  const nowMs = target.service.clock.now()
  const text = jsonText(plan.body)
    .replaceAll('"@now"', `"${isoTime(nowMs)}"`)
    .replaceAll('"@old"', `"${isoTime(nowMs - 6 * minuteMs)}"`)
    .replaceAll('"@ahead"', `"${isoTime(nowMs + 6 * minuteMs)}"`)
  const signed = await withSignatures(target, operation, text, signer, path)
  return byteForms[plan.bytes](Buffer.from(signed, 'utf8'))
}

type Json = Readonly<Record<string, unknown>>

/** Replaces each signature mark by a signature over the text, hostile or not. */
async function withSignatures(
  target: Target,
  operation: Operation,
  text: string,
  signer: TestWallet,
  path: string,
): Promise<string> {
  if (!text.includes('"@')) return text
  const body = parsed(text)
  if (body === null) return text
  const wallet = stringIn(body, 'wallet') ?? signer.address
  const holder =
    [...target.wallets.values()].find(({ id }) => id === wallet.toLowerCase() || id === wallet) ??
    signer
  const timestamp = stringIn(body, 'timestamp') ?? ''
  const oathText =
    target.service.actions.reference().oaths.get(oathKinds[operation.id] ?? 'worker')?.text ?? ''
  const { wallet: _wallet, timestamp: _timestamp, signature: _signature, ...receipt } = body
  const signatures: Readonly<Record<string, () => Promise<string> | string>> = {
    '@platform_signature': () => receiptSignature(platformKey, receipt),
    '@worker_signature': () => receiptSignature(workerKey, receipt),
    '@oath_signature': () =>
      operation.id === 'signupPartner'
        ? signer.sign(fillOath(oathText, { wallet: signer.address, timestamp }))
        : holder.sign(fillOath(oathText, { wallet, timestamp })),
    '@signature': () => holder.sign(statementOf(operation, body, { wallet, timestamp }, path)),
  }
  let signed = text
  for (const [mark, make] of Object.entries(signatures)) {
    if (signed.includes(`"${mark}"`)) {
      signed = signed.replaceAll(`"${mark}"`, JSON.stringify(await signatureOr(make)))
    }
  }
  return signed
}

/** Returns an invalid signature for a text without a canonical form. */
async function signatureOr(make: () => Promise<string> | string): Promise<string> {
  try {
    return await make()
  } catch {
    return `0x${'11'.repeat(65)}`
  }
}

function stringIn(body: Json, name: string): string | null {
  const value = body[name]
  return typeof value === 'string' ? value : null
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ...value }
      : null
  } catch {
    return null
  }
}

const oathKinds: Readonly<Record<string, OathKind>> = {
  signupPartner: 'partner',
  claimSpot: 'claim',
}

/** The message that an operation signs. */
function statementOf(
  { id }: Operation,
  body: Json,
  signer: { readonly wallet: string; readonly timestamp: string },
  path: string,
): string {
  const facts = { ...signer, bodySha256: bodySha256(body) }
  const owner = path.split('/').at(-2) ?? ''
  const url = stringIn(body, 'url') ?? ''
  const statements: Readonly<Record<string, () => string>> = {
    registerWorker: () => messages.register(testService, facts),
    claimSpot: () => messages.claim(testService, facts),
    submitReceipt: () => messages.receipt(testService, facts),
    openDispute: () => messages.dispute(testService, facts),
    withdrawDispute: () => messages.dispute(testService, facts),
    deliverJob: () => messages.deliver(testService, { ...facts, jobId: owner }),
    updateAttestationEndpoint: () =>
      messages.attestationEndpoint(testService, { ...signer, handle: owner, url }),
  }
  return statements[id]?.() ?? `${testService}-unknown-v1`
}

async function credentialsOf(
  { credentials: form, form: spelling, binding, method }: Plan,
  signer: TestWallet,
  { path, bytes, nowMs }: { readonly path: string; readonly bytes: Buffer; readonly nowMs: number },
): Promise<readonly Header[]> {
  const offsetMs = form === 'old' ? -6 * minuteMs : form === 'ahead' ? 6 * minuteMs : 0
  const headers = await partnerHeaders(
    signer,
    {
      method: form === 'other method' ? 'PUT' : method,
      path: form === 'other path' ? '/api/v1/partners/me/x' : path,
      raw: bytes.toString('utf8'),
    },
    {
      nowMs: nowMs + offsetMs,
      form: spelling,
      binding,
      ...(form === 'other service' ? { service: 'another-ledger' } : {}),
    },
  )
  return credentialForms[form](Object.entries(headers), signer)
}

/** The price of a read, or of a month of the tier `pro`. */
function priceOf({ id }: Operation): bigint {
  const price = routes.find((route) => route.id === id && 'price' in route)
  const usdc = price !== undefined && 'price' in price ? Number(price.price) : PRO_USDC
  return BigInt(Math.round(usdc * microPerUsdc))
}

const PRO_USDC = 99

async function paymentOf(
  target: Target,
  operation: Operation,
  payment: Payment,
): Promise<readonly Header[]> {
  const { name, version, spelling } = payment
  nonces += 1
  const nonce = createHash('sha256').update(`nonce ${nonces}`).digest('hex')
  const nowSeconds = BigInt(Math.floor(target.service.clock.now() / 1000))
  const signed = await signAuthorization(payer, {
    to: target.receiver,
    value: priceOf(operation),
    validBefore: nowSeconds + 120n,
    nonce: `0x${nonce}`,
  })
  const good = textOf(version === 1 ? paymentV1(signed) : paymentV2(signed))
  const text = Buffer.from(jsonText(changed(good, payment.changes)), 'utf8')
  return paymentForms[spelling](text).map((value) => [name, value])
}
