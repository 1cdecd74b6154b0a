/** Requests against one operation of `/openapi.json`: planned from what it says of itself, then signed and spelled out. */
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
  /** The template. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** Null where it takes no body. */
  readonly body: unknown
  readonly asksForPartner: boolean
}

type Header = readonly [name: string, value: string]

interface Payment {
  readonly version: 1 | 2
  readonly name: 'X-PAYMENT' | 'PAYMENT-SIGNATURE'
  readonly changes: readonly Change[]
  readonly spelling: 'good' | 'twice' | 'url-safe' | 'cut' | 'plain' | 'bytes' | 'huge' | 'empty'
}

type Credentials = (typeof credentialForms)[number]

/** All of a request but what only the moment gives: signatures and times. */
export interface Plan {
  readonly method: string
  readonly path: string
  readonly headers: readonly Header[]
  readonly credentials: Credentials
  readonly form: 'bearer' | 'headers'
  readonly binding: 'path' | 'body'
  /** Counts the wallets around. */
  readonly signer: number
  readonly payment: Payment | null
  readonly body: JsonText | null
  readonly bytes: (typeof byteForms)[number]
  /** Sent again, byte for byte. */
  readonly again: boolean
}

const credentialForms = [
  'good',
  'none',
  'lower',
  'cut',
  'other wallet',
  'other path',
  'other method',
  'other service',
  'old',
  'ahead',
  'no time',
  'words',
  'both forms',
  'twice',
  'half',
  'basic',
  'huge',
  'flipped',
] as const
const byteForms = [
  'as is',
  'cut',
  'byte order mark',
  'text after',
  'not UTF-8',
  'NUL',
  'UTF-16',
  'empty',
  'gzip',
  'brotli',
  'huge',
  'list',
  'twice',
  'comment',
] as const

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

/** Headers that are no business of the operation, and some that are, in spellings that are not taken. */
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
  spelling: rarely<Payment['spelling']>(
    'good',
    ['twice', 'url-safe', 'cut', 'plain', 'bytes', 'huge', 'empty'],
    3,
  ),
})

/** Plans for an operation; `known` holds what exists. */
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
    credentials: operation.asksForPartner
      ? rarely<Credentials>('good', credentialForms, 4)
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
    bytes: rarely<Plan['bytes']>('as is', byteForms, 10),
    again: rarely(false, [true], 8),
  })
}

/** The wallet that may make the request, by its index; by default the poster of the job. */
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
  const asked = fc.tuple(
    ...queries.map((query) =>
      fc.option(text(query), { nil: undefined }).map((value) => ({ name: query.name, value })),
    ),
  )
  const stray = rarely(
    '',
    ['__proto__=1', 'limit=1&limit=2', '%zz', '=&=&', 'constructor[x]=1', 'x'],
    19,
  )
  return fc.tuple(filled, asked, stray).map(([path, pairs, more]) => {
    const query = [
      ...pairs.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}=${value}`])),
      ...(more === '' ? [] : [more]),
    ].join('&')
    return query === '' ? path : `${path}?${query}`
  })
}

const wordOf = (value: JsonText): string => (typeof value === 'string' ? value : jsonText(value))

/** As they are in a target: what breaks the form of a path is refused before it is looked up. */
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

/** A request as it goes over the wire, and what of it a log may never hold. */
export interface Rendered {
  readonly bytes: Buffer
  readonly path: string
  readonly credentials: readonly string[]
}

let nonces = 0

export async function render(target: Target, operation: Operation, plan: Plan): Promise<Rendered> {
  const { service } = target
  // Each at a time of its own: no two are the same message.
  service.clock.advance(1)
  const all = [...target.wallets.values()]
  const signer = all[plan.signer % all.length]
  if (signer === undefined) throw new Error('nobody signs')
  const [path = ''] = plan.path.split('?')
  const body = plan.body === null ? null : await spelledOut(target, operation, plan, signer, path)
  const credentials = await credentialsOf(plan, signer, {
    path,
    raw: body?.toString('latin1') ?? '',
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

async function spelledOut(
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
  return bytesOf(Buffer.from(signed, 'utf8'), plan.bytes)
}

type Json = Readonly<Record<string, unknown>>

/** Signs what the text says, hostile or not, wherever a signature is to stand. */
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
  const oathText = target.service.actions.reference().oaths.get(oathKindOf(operation))?.text ?? ''
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

/** A text without a canonical form gets a made-up signature. */
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

function oathKindOf({ id }: Operation): OathKind {
  if (id === 'signupPartner') return 'partner'
  return id === 'claimSpot' ? 'claim' : 'worker'
}

function statementOf(
  { id }: Operation,
  body: Json,
  from: { readonly wallet: string; readonly timestamp: string },
  path: string,
): string {
  const all = { ...from, bodySha256: bodySha256(body) }
  const segments = path.split('/')
  switch (id) {
    case 'registerWorker':
      return messages.register(testService, all)
    case 'claimSpot':
      return messages.claim(testService, all)
    case 'submitReceipt':
      return messages.receipt(testService, all)
    case 'deliverJob':
      return messages.deliver(testService, { ...all, jobId: segments.at(-2) ?? '' })
    case 'updateAttestationEndpoint': {
      const place = { handle: segments.at(-2) ?? '', url: stringIn(body, 'url') ?? '' }
      return messages.attestationEndpoint(testService, { ...from, ...place })
    }
    default:
      return `${testService}-unknown-v1`
  }
}

const HUGE_BYTES = 70_000

function bytesOf(body: Buffer, form: Plan['bytes']): Buffer {
  switch (form) {
    case 'cut':
      return body.subarray(0, -1)
    case 'byte order mark':
      return Buffer.concat([Buffer.from('\uFEFF'), body])
    case 'text after':
      return Buffer.concat([body, Buffer.from(' {}')])
    case 'not UTF-8':
      return Buffer.concat([body.subarray(0, -2), Buffer.from([0xc3, 0x28]), body.subarray(-2)])
    case 'NUL':
      return Buffer.concat([body, Buffer.from([0])])
    case 'UTF-16':
      return Buffer.from(body.toString('utf8'), 'utf16le')
    case 'empty':
      return Buffer.alloc(0)
    case 'gzip':
      return gzipSync(body)
    case 'brotli':
      return brotliCompressSync(body)
    case 'huge':
      return Buffer.concat([body, Buffer.alloc(HUGE_BYTES, ' ')])
    case 'list':
      return Buffer.concat([Buffer.from('['), body, Buffer.from(']')])
    case 'twice':
      return Buffer.concat([body, body])
    case 'comment':
      return Buffer.concat([Buffer.from('/* */'), body])
    case 'as is':
      break
  }
  return body
}

interface Covered {
  readonly path: string
  readonly raw: string
  readonly bytes: Buffer
  readonly nowMs: number
}

async function credentialsOf(
  plan: Plan,
  signer: TestWallet,
  { path, bytes, nowMs }: Covered,
): Promise<readonly Header[]> {
  const { credentials: form } = plan
  if (form === 'none') return []
  if (form === 'words') return [['Authorization', 'Bearer please']]
  if (form === 'basic') return [['Authorization', 'Basic YWRtaW46YWRtaW4=']]
  if (form === 'huge') {
    return [['Authorization', `Bearer ${signer.address}:0x${'ab'.repeat(3500)}`]]
  }
  const sent = await headersOf(plan, signer, { path, bytes, nowMs })
  const flip = (text: string) => text.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  switch (form) {
    case 'lower':
      return sent.map(([name, value]) => [name.toLowerCase(), value.replace('Bearer', 'bearer')])
    case 'cut':
      return sent.map(([name, value]) => [name, value.slice(0, -1)])
    case 'flipped':
      return sent.map(([name, value]) => [
        name,
        name === 'X-Partner-Timestamp' ? value : flip(value),
      ])
    case 'no time':
      return sent.filter(([name]) => name !== 'X-Partner-Timestamp')
    case 'half':
      return sent.slice(1)
    case 'twice':
      return [...sent, ...sent]
    case 'both forms':
      return [...sent, ['X-Partner-Wallet', signer.address], ['Authorization', 'Bearer a:b']]
    case 'good':
    case 'old':
    case 'ahead':
    case 'other wallet':
    case 'other path':
    case 'other method':
    case 'other service':
      break
  }
  return sent
}

async function headersOf(
  plan: Plan,
  signer: TestWallet,
  { path, bytes, nowMs }: Omit<Covered, 'raw'>,
): Promise<Header[]> {
  const { credentials: form, binding } = plan
  const offsetMs = form === 'old' ? -6 * minuteMs : form === 'ahead' ? 6 * minuteMs : 0
  const sent = await partnerHeaders(
    signer,
    {
      method: form === 'other method' ? 'PUT' : plan.method,
      path: form === 'other path' ? '/api/v1/partners/me/x' : path,
      raw: bytes.toString('utf8'),
    },
    {
      nowMs: nowMs + offsetMs,
      form: plan.form,
      binding,
      ...(form === 'other service' ? { service: 'another-ledger' } : {}),
    },
  )
  if (form !== 'other wallet') return Object.entries(sent)
  const other = `0x${'52'.repeat(20)}`
  return Object.entries(sent).map(([name, value]) => [name, value.replace(signer.address, other)])
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
  const header = text.toString('base64').slice(0, 7000)
  switch (spelling) {
    case 'twice':
      return [
        [name, header],
        [name, header],
      ]
    case 'url-safe':
      return [[name, text.toString('base64url').slice(0, 7000)]]
    case 'cut':
      return [[name, header.slice(0, -3)]]
    case 'plain':
      return [[name, flat(text.toString('utf8')).slice(0, 3000)]]
    case 'bytes':
      return [[name, Buffer.from(naughty[nonces % naughty.length] ?? '').toString('base64')]]
    case 'huge':
      return [[name, 'A'.repeat(7200)]]
    case 'empty':
      return [[name, '']]
    case 'good':
      break
  }
  return [[name, header]]
}
