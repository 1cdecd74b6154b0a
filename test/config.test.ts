import { readFileSync } from 'node:fs'

import { describe, expect, it } from 'vitest'

import {
  ConfigError,
  parseConfig,
  railPrefix,
  requireForReplicas,
  settings,
} from '../src/config.ts'
import { entriesOf } from '../src/core/entries.ts'

const files: Record<string, string> = { '/run/secrets/base': 'https://rpc.test/key\n' }
const parse = (variables: Record<string, string>) =>
  parseConfig({
    variables,
    readFile: (path) => {
      const text = files[path]
      if (text === undefined) throw new Error('no such file')
      return text
    },
  })

describe('settings', () => {
  it('settings have defaults if nothing is set', () => {
    expect(parse({})).toMatchObject({
      PORT: 8787,
      HOST: '127.0.0.1',
      SITE_URL: 'http://localhost:8787',
      SERVICE_NAME: 'agent-income-ledger',
      POLL: 'on',
      RPC_URL_BASE: null,
      TRUSTED_PROXIES: [],
    })
  })

  it('the default address of the site has the port of the service', () => {
    expect(parse({ PORT: '9112' }).SITE_URL).toBe('http://localhost:9112')
    expect(parse({ PORT: '9112', SITE_URL: 'https://a.test' }).SITE_URL).toBe('https://a.test')
    expect(parse({ PORT: '0' }).SITE_URL).toBe('http://localhost:8787')
  })

  it('settings read secrets from files', () => {
    expect(parse({ RPC_URL_BASE_FILE: '/run/secrets/base' }).RPC_URL_BASE).toBe(
      'https://rpc.test/key',
    )
  })

  it('settings include the bucket, at Amazon S3 unless there is an endpoint', () => {
    const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'key' }
    const of = (PUBLISH_URL: string) => parse({ ...keys, PUBLISH_URL }).bucket
    const found = { bucket: 'ledger.test', accessKeyId: 'id', secretAccessKey: 'key' }
    expect(of('s3://ledger.test/a/b/?endpoint=http://127.0.0.1:9/&region=here')).toEqual({
      ...found,
      endpoint: 'http://127.0.0.1:9',
      region: 'here',
      prefix: 'a/b/',
    })
    const amazon = { endpoint: 'https://s3.eu-west-1.amazonaws.com', region: 'eu-west-1' }
    expect(of('s3://ledger.test?region=eu-west-1')).toEqual({ ...found, ...amazon, prefix: '' })
    expect(parse(keys).bucket).toBeNull()
  })

  it('settings include a base address for each rail', () => {
    const { railBaseUrls } = parse({ RAIL_BASE_URL_X402_BAZAAR: 'http://127.0.0.1:9/' })
    expect([...railBaseUrls]).toEqual([['x402_bazaar', 'http://127.0.0.1:9']])
  })

  it.each([
    ['PORT', { PORT: '70000' }],
    ['PORT', { PORT: 'http' }],
    ['SITE_URL', { SITE_URL: 'ftp://example.test' }],
    ['SERVICE_NAME', { SERVICE_NAME: 'Ledger:1' }],
    ['POLL', { POLL: 'yes' }],
    ['LIMITS', { LIMITS: 'off', HOST: '0.0.0.0' }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://x' }],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://db.test:port/ledger' }],
    ['DATABASE_URL', { DATABASE_URL: 'postgres://db.test/a/b' }],
    ['PUBLISH_URL', { PUBLISH_URL: 's3://' }],
    ['PUBLISH_URL', { PUBLISH_URL: 's3://bucket?endpoint=ftp://store.test' }],
    ['S3_SECRET_ACCESS_KEY', { PUBLISH_URL: 's3://bucket', S3_ACCESS_KEY_ID: 'id' }],
    ['RPC_URL_BASE_FILE', { RPC_URL_BASE_FILE: '/nowhere' }],
    ['RAIL_BASE_URL_X402', { RAIL_BASE_URL_X402: 'x402' }],
  ])('settings with an invalid %s are refused with its name', (name, variables) => {
    expect(() => parse(variables)).toThrow(ConfigError)
    expect(() => parse(variables)).toThrow(name)
  })

  it('the error for an invalid secret does not repeat it', () => {
    let message = ''
    try {
      parse({ RPC_URL_BASE: 'secret-key-without-scheme' })
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('RPC_URL_BASE')
    expect(message).not.toContain('secret-key')
  })

  it.each(['q1@q2/q3#q4%q5', 'q1/q2', 'q1#q2', 'q1?q2', 'q1%q2', 'q1@q2'])(
    'a raw password %s in DATABASE_URL is refused without any piece of it',
    (password) => {
      const refused = () => parse({ DATABASE_URL: `postgres://user:${password}@db.test/ledger` })
      expect(refused).toThrow(/^DATABASE_URL: .*percent-encode the password/)
      expect(refused).not.toThrow(/q\d/)
      const DATABASE_URL = `postgres://user:${encodeURIComponent(password)}@db.test:1/ledger?a=b`
      expect(parse({ DATABASE_URL }).DATABASE_URL).toBe(DATABASE_URL)
    },
  )

  it('settings of replicas require keys, a mail server and a git remote', () => {
    const DATABASE_URL = 'postgres://ledger@db.test/ledger'
    expect(parse({}).KEYS).toBe('create')
    expect(parse({ DATABASE_URL, KEYS: 'create' }).KEYS).toBe('required')
    const require = (variables: Record<string, string>) => () =>
      requireForReplicas(parse(variables))
    expect(require({ DATABASE_URL })).toThrow(/^SMTP_URL: .*\nSNAPSHOT_GIT_REMOTE: /)
    const SMTP_URL = 'smtp://mail.test'
    expect(require({ DATABASE_URL, SMTP_URL })).toThrow(/^SNAPSHOT_GIT_REMOTE: /)
    require({ DATABASE_URL, SMTP_URL, SNAPSHOT_GIT_REMOTE: 'git@git.test:facts.git' })()
    require({})()
  })

  it('all settings are listed in the README', () => {
    expect(readFileSync('README.md', 'utf8')).toContain(settingsTable())
  })
})

interface ShownSetting {
  readonly doc: string
  readonly default: string | null
  readonly secret?: boolean
}

function settingsTable(): string {
  const rows = entriesOf<Record<string, ShownSetting>>(settings).map(([name, setting]) => {
    const shown =
      setting.default === null
        ? 'unset'
        : setting.default === ''
          ? 'empty'
          : `\`${setting.default}\``
    const secret = setting.secret === true ? ` Also \`${name}_FILE\`.` : ''
    return `| \`${name}\` | ${shown} | ${setting.doc}${secret} |`
  })
  return [
    '| setting | default | description |',
    '| --- | --- | --- |',
    ...rows,
    `| \`${railPrefix}<RAIL>\` | unset | Origin from which the adapter of the rail reads instead of its usual HTTP hosts, for mirrors and tests. |`,
  ].join('\n')
}
