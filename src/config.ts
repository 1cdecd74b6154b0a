import { join } from 'node:path'

import { z } from 'zod'

import { paymentAsset } from './contract/x402.ts'
import { entriesOf } from './core/entries.ts'
import { parseWitnessPolicy } from './core/tlog/policy.ts'
import { checksumAddress } from './core/wallet.ts'
import type { Bucket } from './outbound/object-store.ts'
import { cdpSecret } from './payments/cdp-token.ts'

interface Setting {
  readonly doc: string
  readonly schema: z.ZodType
  /** The value as written in the environment; null if the setting may be unset. */
  readonly default: string | null
  /** `<NAME>_FILE` may contain the path of a file with the value. */
  readonly secret?: true
}

const port = z.coerce.number().int().min(0).max(65535)
const siteUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''))
const onOff = z.enum(['on', 'off'])
const rpcUrl = z.url({ protocol: /^https?$/ })
const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/

const bucketUrl = z
  .string()
  .regex(
    /^s3:\/\/[a-z0-9][a-z0-9.-]+(?:\/[\w./-]*)?(?:\?(?:(?:endpoint=https?:\/\/[^&\s]+|region=[\w-]+)(?:&|$))*)?$/,
    'must be s3://bucket/prefix?endpoint=https://…&region=…',
  )
  .transform((value) => {
    const { hostname: bucket, pathname, searchParams } = new URL(value)
    const region = searchParams.get('region') ?? 'us-east-1'
    const endpoint = searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`
    const prefix = `${pathname}/`.replaceAll(/^\/+|(?<=\/)\/+/g, '')
    return { endpoint: endpoint.replace(/\/+$/, ''), region, bucket, prefix }
  })

const isPostgres = /^postgres/
/** With raw `@`, `/`, `?`, `#` or `%` in the password, parts of it would become the host, the path or the query. */
const databaseUrl =
  /^(?:sqlite:.|postgres(?:ql)?:\/\/(?:(?:[^\s@/?#%]|%[\da-f]{2})+@)?(?:\[[\da-f:]+\]|[^\s@/?#:]*)(?::\d+)?(?:\/[^\s@/?#]*)?(?:\?[^\s@#]*)?$)/i

/** A setting that may be unset, or set by a file. */
const secret = <const Schema extends z.ZodType>(schema: Schema, doc: string) =>
  ({ doc, schema, default: null, secret: true }) as const

const node = (chain: string, effect = '') =>
  secret(rpcUrl, `JSON-RPC URL of ${chain}. If unset, a public endpoint is used${effect}.`)
const withoutLookUps = ', and the wallets that fund the payers of rails are not looked up'

/** The README's table has the same order. */
export const settings = {
  PORT: {
    doc: 'TCP port of the service; 0 selects a free port.',
    schema: port,
    default: '8787',
  },
  HOST: {
    doc: 'IP address on which the service listens.',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  METRICS_PORT: {
    doc: 'TCP port of the Prometheus metrics endpoint; 0 selects a free port. If unset, there are no metrics.',
    schema: port,
    default: null,
  },
  METRICS_HOST: {
    doc: 'IP address on which the metrics endpoint listens. The endpoint is for operators and has no rate limits.',
    schema: z.string().min(1),
    default: '127.0.0.1',
  },
  SITE_URL: {
    doc: 'Public address of the site. All links start with this address, never with the host name of a request. The default has the port `PORT`.',
    schema: siteUrl,
    default: 'http://localhost:8787',
  },
  SERVICE_NAME: {
    doc: 'Name of the service in every signed message. Use a different name for each environment, so that no message is valid in two environments.',
    schema: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
    default: 'agent-income-ledger',
  },
  DATA_DIR: {
    doc: 'Directory of the runtime state: database, keys, outbox, snapshot repository.',
    schema: z.string().min(1),
    default: 'data/run',
  },
  PUBLIC_DIR: {
    doc: 'Directory in which documents and pages are published.',
    schema: z.string().min(1),
    default: 'public',
  },
  PUBLISH_URL: {
    doc: 'Bucket of an S3-compatible object store to which documents are published, `s3://bucket/prefix?endpoint=https://…&region=…`. Without `endpoint` the store is Amazon S3. If unset, documents are published in `PUBLIC_DIR` only. A bucket requires `S3_ACCESS_KEY_ID` and `S3_SECRET_ACCESS_KEY`.',
    schema: bucketUrl,
    default: null,
  },
  S3_ACCESS_KEY_ID: secret(z.string().min(1), 'Access key ID for the object store.'),
  S3_SECRET_ACCESS_KEY: secret(z.string().min(1), 'Secret access key for the object store.'),
  DATABASE_URL: secret(
    z
      .string()
      .regex(
        databaseUrl,
        'must be sqlite:<path> or postgres://<user>:<password>@<host>/<name>; percent-encode the password, such as %40 for @',
      ),
    'Database URL, `sqlite:<path>` or `postgres://<user>:<password>@<host>/<name>`. If unset, the database is `ledger.db` in `DATA_DIR`.',
  ),
  WAL_CHECKPOINT: {
    doc: 'With `internal` the service checkpoints the write-ahead log; with `external` another program such as Litestream does.',
    schema: z.enum(['internal', 'external']),
    default: 'internal',
  },
  BUILDER: {
    doc: 'With `embedded` the service runs the builder as a child process; with `off` you run the builder separately.',
    schema: z.enum(['embedded', 'off']),
    default: 'embedded',
  },
  DEMO: {
    doc: '`on` marks every page, document and response as a demo. `npm run demo` sets `DEMO` for the folders that it creates.',
    schema: onOff,
    default: 'off',
  },
  KEYS: {
    doc: '`create` creates the keys and secrets of a new ledger in `DATA_DIR`; with `required` the service and the builder start only if they exist. If the database, `PUBLIC_DIR` or the bucket has a log, or the bucket does not answer, no key is created. PostgreSQL implies `required`, since all replicas need the same keys.',
    schema: z.enum(['create', 'required']),
    default: 'create',
  },
  POLL: { doc: 'Whether rails are polled.', schema: onOff, default: 'on' },
  POLL_EVERY_MINUTES: {
    doc: 'Minutes between two polls of a rail; the polls of different rails are spread over the interval.',
    schema: z.coerce.number().int().min(5).max(1440),
    default: '360',
  },
  LIMITS: {
    doc: '`off` disables the rate limits, for tests and fuzzing. The value `off` is allowed only if `HOST` is a loopback address.',
    schema: onOff,
    default: 'on',
  },
  TRUSTED_PROXIES: {
    doc: 'Comma-separated addresses or CIDR ranges of your proxies. The service uses `X-Forwarded-For` only in requests from your proxies.',
    schema: z.string().transform((value) =>
      value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
    default: '',
  },
  WITNESSES: {
    doc: 'Comma-separated witnesses of the log, each as `<verifier key> <address>`. Once a minute the builder requests their cosignatures of the newest checkpoint (c2sp.org/tlog-witness). A number before them sets the quorum of `/log/policy`; the default is more than half.',
    schema: z.string().transform((value, context) => {
      try {
        return parseWitnessPolicy(value)
      } catch (error) {
        context.addIssue(error instanceof RangeError ? error.message : String(error))
        return z.NEVER
      }
    }),
    default: '',
  },
  RPC_URL_BASE: secret(
    rpcUrl,
    'JSON-RPC URL of Base. If unset, rails are read from a public endpoint, the wallets that fund their payers are not looked up, and receipts on this chain are not verified.',
  ),
  RPC_URL_ETHEREUM: secret(
    rpcUrl,
    'JSON-RPC URL of Ethereum. If unset, rails are read from a public endpoint, and receipts on this chain are not verified.',
  ),
  RPC_URL_ARBITRUM: secret(
    rpcUrl,
    'JSON-RPC URL of Arbitrum One. If unset, rails are read from a public endpoint, the wallets that fund their payers are not looked up, receipts on this chain are not verified, and the escrow of pacts is not read.',
  ),
  RPC_URL_GNOSIS: secret(
    rpcUrl,
    'JSON-RPC URL of Gnosis Chain. If unset, rails are read from a public endpoint, and receipts on this chain are not verified.',
  ),
  RPC_URL_POLYGON: node('Polygon PoS', withoutLookUps),
  RPC_URL_OPTIMISM: node('OP Mainnet'),
  RPC_URL_CELO: node('Celo'),
  RPC_URL_BSC: node('BNB Smart Chain'),
  RPC_URL_TEMPO: node('Tempo', withoutLookUps),
  RPC_URL_SOLANA: node('Solana'),
  SETTLEMENT: {
    doc: 'Settlement of payments for single reads and subscriptions: `local` uses a wallet of this service, `facilitator` uses an x402 facilitator, and `off` disables payments. `local` and `facilitator` require `PAYMENT_RECEIVER` and `RPC_URL_BASE`.',
    schema: z.enum(['off', 'local', 'facilitator']),
    default: 'off',
  },
  PAYMENT_RECEIVER: {
    doc: 'Address on Base that receives USDC, with EIP-55 checksum. Use the address for this ledger only, because this ledger accepts each payment to the address once, regardless of who submitted the transaction.',
    schema: z.string().refine(isReceiver, 'must be an address with EIP-55 checksum'),
    default: null,
  },
  SETTLER_KEY_FILE: {
    doc: 'File with the private key (0x and 64 hex digits) of the wallet that settles payments and pays for gas if `SETTLEMENT` is `local`. Only the owner of the file may have permission to read it.',
    schema: z.string().min(1),
    default: null,
  },
  SETTLER_MAX_GAS_GWEI: {
    doc: 'Gas price in gwei above which no payments are settled. Payers are then told to retry later.',
    schema: z.coerce.number().min(0.001).max(1000),
    default: '0.1',
  },
  FACILITATOR_URL: secret(
    rpcUrl,
    'Base URL of the facilitator, which is used if `SETTLEMENT` is `facilitator`.',
  ),
  CDP_API_KEY_ID: {
    doc: 'ID of an API key of the Coinbase Developer Platform. Set it with `CDP_API_KEY_SECRET` if the facilitator is `https://api.cdp.coinbase.com/platform/v2/x402`.',
    schema: z.string().min(1),
    default: null,
  },
  CDP_API_KEY_SECRET: secret(cdpSecret, 'Secret of this API key, Ed25519 (base64) or ECDSA (PEM).'),
  SMTP_URL: secret(
    z.url({ protocol: /^smtps?$/ }),
    'Mail server URL, `smtp://user:password@host:port` or `smtps://…`. If unset, e-mails are written to `outbox` in `DATA_DIR`.',
  ),
  MAIL_FROM: {
    doc: 'Sender address of e-mails. If unset, the sender is `ledger@` followed by the host of `SITE_URL`.',
    schema: z.email().max(254),
    default: null,
  },
  SNAPSHOT_GIT_REMOTE: secret(
    z.string().min(1),
    'Git remote to which the snapshot repository is pushed. If unset, the repository is not pushed.',
  ),
  LOG_LEVEL: {
    doc: 'Minimum level of log messages.',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
  },
} as const satisfies Record<string, Setting>

type Settings = typeof settings
type SettingName = keyof Settings
type ValueOf<Name extends SettingName> =
  | z.infer<Settings[Name]['schema']>
  | (Settings[Name]['default'] extends null ? null : never)

export type Config = { readonly [Name in SettingName]: ValueOf<Name> } & {
  /** `RAIL_BASE_URL_<RAIL>` by rail slug. */
  readonly railBaseUrls: ReadonlyMap<string, string>
  readonly bucket: Bucket | null
  readonly database: { readonly url: string; readonly checkpoints: 'own' | 'others' }
}

export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly readFile: (path: string) => string
}

/** Invalid settings. The process prints the message and exits with code 78. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export const railPrefix = 'RAIL_BASE_URL_'

/** @throws ConfigError that lists all invalid settings */
export function parseConfig(environment: Environment): Config {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of entriesOf<Record<SettingName, Setting>>(settings)) {
    const isLocal = name === 'SITE_URL' && Number(values['PORT']) > 0
    const unset = isLocal ? `http://localhost:${String(values['PORT'])}` : setting.default
    const raw = rawValue(name, setting, environment, problems) ?? unset
    if (raw === null) {
      values[name] = null
      continue
    }
    const parsed = setting.schema.safeParse(raw)
    if (parsed.success) values[name] = parsed.data
    else problems.push(`${name}: ${reasonOf(parsed.error)}. ${setting.doc}`)
  }
  if (isPostgres.test(String(values['DATABASE_URL']))) values['KEYS'] = 'required'
  problems.push(...missingSettings(values))
  const railBaseUrls = parseRailBaseUrls(environment.variables, problems)
  if (values['LIMITS'] === 'off' && !loopback.test(String(values['HOST']))) {
    problems.push('LIMITS: off is only allowed if HOST is a loopback address')
  }
  if (Number(values['METRICS_PORT']) > 0 && values['METRICS_PORT'] === values['PORT']) {
    problems.push('METRICS_PORT: must differ from PORT')
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was parsed by the schema that types it
  const config = { ...values, railBaseUrls } as Omit<Config, 'bucket' | 'database'>
  const { PUBLISH_URL: place, S3_ACCESS_KEY_ID: id, S3_SECRET_ACCESS_KEY: key } = config
  const bucket = place && { ...place, accessKeyId: id ?? '', secretAccessKey: key ?? '' }
  const database: Config['database'] = {
    url: config.DATABASE_URL ?? join(config.DATA_DIR, 'ledger.db'),
    checkpoints: config.WAL_CHECKPOINT === 'external' ? 'others' : 'own',
  }
  return Object.freeze({ ...config, bucket, database })
}

const requiredIf: Readonly<Record<string, readonly SettingName[]>> = {
  'SETTLEMENT is local': ['PAYMENT_RECEIVER', 'RPC_URL_BASE', 'SETTLER_KEY_FILE'],
  'SETTLEMENT is facilitator': ['PAYMENT_RECEIVER', 'RPC_URL_BASE', 'FACILITATOR_URL'],
  'PUBLISH_URL is set': ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  'CDP_API_KEY_ID is set': ['CDP_API_KEY_SECRET'],
  'CDP_API_KEY_SECRET is set': ['CDP_API_KEY_ID'],
}

function missingSettings(values: Readonly<Record<string, unknown>>): string[] {
  const settlement = `SETTLEMENT is ${String(values['SETTLEMENT'])}`
  const set = Object.keys(values).filter((name) => values[name] !== null)
  return [settlement, ...set.map((name) => `${name} is set`)].flatMap((condition) =>
    (requiredIf[condition] ?? [])
      .filter((name) => values[name] === null)
      .map((name) => `${name}: must be set if ${condition}. ${settings[name].doc}`),
  )
}

/** E-mails and commits would wait on the disk of one replica. @throws ConfigError that lists what is missing */
export function requireForReplicas(config: Config): void {
  if (!isPostgres.test(config.DATABASE_URL ?? '')) return
  const missing = (['SMTP_URL', 'SNAPSHOT_GIT_REMOTE'] as const)
    .filter((name) => config[name] === null)
    .map(
      (name) => `${name}: must be set if DATABASE_URL is PostgreSQL, since replicas share no disk`,
    )
  if (missing.length > 0) throw new ConfigError(missing.join('\n'))
}

/** Requires the EIP-55 checksum, which detects typos; rejects the zero address and the address of the token. */
function isReceiver(text: string): boolean {
  const address = text.toLowerCase()
  if (!/^0x[0-9a-f]{40}$/.test(address) || checksumAddress(address) !== text) return false
  return !/^0x0{40}$/.test(address) && text !== paymentAsset.address
}

function rawValue(
  name: SettingName,
  setting: Setting,
  { variables, readFile }: Environment,
  problems: string[],
): string | null {
  const direct = variables[name]
  if (direct !== undefined && direct !== '') return direct
  const path = setting.secret === true ? variables[`${name}_FILE`] : undefined
  if (path === undefined || path === '') return null
  try {
    return readFile(path).trim()
  } catch {
    problems.push(`${name}_FILE: the file cannot be read`)
    return null
  }
}

function parseRailBaseUrls(
  variables: Environment['variables'],
  problems: string[],
): ReadonlyMap<string, string> {
  const urls = new Map<string, string>()
  for (const [name, value] of Object.entries(variables)) {
    if (!name.startsWith(railPrefix) || value === undefined || value === '') continue
    const parsed = siteUrl.safeParse(value)
    if (parsed.success) urls.set(name.slice(railPrefix.length).toLowerCase(), parsed.data)
    else problems.push(`${name}: must be an http or https address`)
  }
  return urls
}

function reasonOf(error: z.ZodError): string {
  return error.issues.map((issue) => issue.message).join('; ')
}
