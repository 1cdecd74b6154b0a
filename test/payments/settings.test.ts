/** Unusable payment settings prevent the start, with an error that does not contain the secret. */
import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createEvmNode } from '../../src/chain/node.ts'
import { ConfigError, parseConfig } from '../../src/config.ts'
import { PaymentSettingsError, loadPayments } from '../../src/payments/load.ts'
import { paymentSettingsOf } from '../../src/runtime/payment-settings.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { chainKey } from '../support/x402-payment.ts'

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const local = {
  SETTLEMENT: 'local',
  PAYMENT_RECEIVER: receiver,
  RPC_URL_BASE: 'https://rpc.test/key',
  SETTLER_KEY_FILE: '/run/settler.key',
}
const facilitator = {
  SETTLEMENT: 'facilitator',
  PAYMENT_RECEIVER: receiver,
  RPC_URL_BASE: 'https://rpc.test/key',
  FACILITATOR_URL: 'https://facilitator.test/x402/',
}
const parse = (variables: Readonly<Record<string, string>>) =>
  parseConfig({ variables, readFile: () => '' })

describe('payment settings', () => {
  it('payments are off with nothing set', () => {
    expect(paymentSettingsOf(parse({}))).toEqual({ mode: 'off', receiver: null })
  })

  it('complete payment settings are accepted', () => {
    expect(paymentSettingsOf(parse({ ...local, SETTLER_MAX_GAS_GWEI: '0.05' }))).toEqual({
      mode: 'local',
      receiver,
      keyFile: local.SETTLER_KEY_FILE,
      maxGasPriceWei: 50_000_000n,
    })
    expect(paymentSettingsOf(parse(facilitator))).toMatchObject({
      mode: 'facilitator',
      facilitatorUrl: facilitator.FACILITATOR_URL,
      cdpKey: null,
    })
  })

  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const secret = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  it.each([
    ['CDP_API_KEY_ID', 'key-1'],
    ['CDP_API_KEY_SECRET', secret],
  ])('%s without the other part of the key prevents the start', (name, value) => {
    expect(() => parse({ ...facilitator, [name]: value })).toThrow(`must be set if ${name} is set`)
  })

  it.each([
    ['PAYMENT_RECEIVER', local],
    ['RPC_URL_BASE', local],
    ['SETTLER_KEY_FILE', local],
    ['PAYMENT_RECEIVER', facilitator],
    ['RPC_URL_BASE', facilitator],
    ['FACILITATOR_URL', facilitator],
  ])('payment settings without %s prevent the start', (name, whole) => {
    const wanted = `${name}: must be set if SETTLEMENT is ${whole.SETTLEMENT}`
    expect(() => parse({ ...whole, [name]: '' })).toThrow(wanted)
  })

  it.each([
    ['in lower case', receiver.toLowerCase()],
    ['with a wrong checksum', receiver.replace('C8', 'c8')],
    ['of another length', '0x7099'],
    ['that is the zero address', `0x${'0'.repeat(40)}`],
    ['that is the token', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
  ])('payment settings with a receiver %s prevent the start', (_, address) => {
    expect(() => parse({ ...local, PAYMENT_RECEIVER: address })).toThrow(ConfigError)
  })
})

describe("the settling wallet's key file", () => {
  const key = chainKey('settler')
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledger-settler-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const load = (keyFile: string) =>
    loadPayments(
      { mode: 'local', receiver, keyFile, maxGasPriceWei: 1n },
      {
        clock: systemClock,
        random: systemRandom,
        fetch,
        node: createEvmNode('base', () => Promise.reject(new Error('no node'))),
        holder: 'test',
      },
    )
  const refusal = async (keyFile: string): Promise<string> => {
    const error: unknown = await load(keyFile).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(PaymentSettingsError)
    const text = error instanceof Error ? `${error.message}${error.stack}` : ''
    expect(text).not.toContain(key.slice(2, 20))
    return text
  }

  it.each(['640', '604', '660', '601', '644'])('refuses settler keys of mode %s', async (mode) => {
    const file = join(folder, `open-${mode}`)
    await writeFile(file, key)
    await chmod(file, mode)
    expect(await refusal(file)).toContain('SETTLER_KEY_FILE: other users can read the file')
  })

  it.each([
    ['nothing', ''],
    ['a key without 0x', key.slice(2)],
    ['a key and more', `${key} ${key}`],
    ['half a key', key.slice(0, 40)],
    ['zero', `0x${'0'.repeat(64)}`],
    ['the order of the curve', `0x${'f'.repeat(64)}`],
  ])('a key file of the settling wallet that contains %s is refused', async (name, text) => {
    const file = join(folder, name)
    await writeFile(file, text, { mode: 0o600 })
    expect(await refusal(file)).toMatch(
      /SETTLER_KEY_FILE: the file (?:must contain|contains no valid)/,
    )
  })

  it('a key file of the settling wallet that does not exist is refused', async () => {
    expect(await refusal(join(folder, 'nowhere'))).toContain('the file cannot be read')
  })

  it('a settling key file with mode 0600 is accepted, also while the node is unavailable', async () => {
    const file = join(folder, 'good')
    await writeFile(file, `${key}\n`, { mode: 0o600 })
    const payments = await load(file)
    expect(payments).toMatchObject({ mode: 'local', receiver })
    expect(
      JSON.stringify(payments, (_, value: unknown) => (value instanceof Set ? [] : value)),
    ).not.toContain(key.slice(2))
  })
})
