import { readFileSync } from 'node:fs'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { verifyPersonalSign } from '../../../src/auth/eip191.ts'
import type { JsonObject } from '../../../src/core/canonical-json.ts'
import {
  attestationMessage,
  checkAttestations,
  checkManifests,
} from '../../../src/core/pact/check.ts'
import type {
  CheckedManifest,
  PactAttestation,
  ReadManifest,
} from '../../../src/core/pact/check.ts'
import { decodePact, getPactCall, pactAmount, pactEscrow } from '../../../src/core/pact/escrow.ts'
import { canonicalManifest, pactSpec, workHashOf } from '../../../src/core/pact/manifest.ts'
import { objectFromJsonText } from '../../../src/db/json.ts'
import { evmWallet } from '../../support/wallets.ts'

const vectorDir = new URL('../../vectors/pact/', import.meta.url)
const textOf = (file: string) => readFileSync(new URL(file, vectorDir), 'utf8')
const { vectors } = z
  .object({
    vectors: z.array(
      z.object({
        file: z.string(),
        canonical_bytes: z.int(),
        keccak256_canonical: z.string(),
        keccak256_canonical_plus_newline: z.string(),
      }),
    ),
  })
  .parse(JSON.parse(textOf('canonical-hash-vectors.json')))

const specFile = new URL('../../../data/pacts/16/spec.json', import.meta.url)
const specJson = objectFromJsonText(readFileSync(specFile, 'utf8'))
const spec = pactSpec.parse(specJson)
const clean = objectFromJsonText(textOf('at-clean-base-reference.json'))
const { e2e_run_id: _removed, ...withoutRun } = clean
const { chainId, address: contractAddress } = pactEscrow
const identity = { pactId: 16, chainId, contractAddress }
const cleanHash = '0xa67d408151085fdb4fd484bac555fcbab3cfc60f1fb2cce861edadcc78183999'

/** Two of the seven vectors have no file; these are their manifests. */
const withoutFile: Readonly<Record<string, JsonObject>> = {
  'at-05-missing-required.json': withoutRun,
  'at-09-canonical-divergence.json': {
    ...clean,
    workhash_claimed_by_publisher: `0x${'ff'.repeat(32)}`,
  },
}
function manifest(file: string): JsonObject {
  return withoutFile[file] ?? objectFromJsonText(textOf(file))
}
function check(instance: JsonObject): CheckedManifest {
  return checkManifests({ spec: { json: specJson }, instance: { json: instance } }, identity)
}
const codes = ({ refusals }: CheckedManifest) => refusals.map(({ code }) => code)

describe.each(vectors)('the manifest of $file', (vector) => {
  const text = canonicalManifest(manifest(vector.file), spec.fields)

  test(`the manifest of ${vector.file} has the canonical form and hash of the vector`, () => {
    expect(new TextEncoder().encode(text)).toHaveLength(vector.canonical_bytes)
    expect(workHashOf(text)).toBe(vector.keccak256_canonical)
  })

  test(`the manifest of ${vector.file} has another hash with a trailing newline`, () => {
    expect(workHashOf(`${text}\n`)).toBe(vector.keccak256_canonical_plus_newline)
    expect(check(manifest(vector.file)).workHash).not.toBe(vector.keccak256_canonical_plus_newline)
  })
})

test.each([
  ['at-clean-base-reference.json', []],
  ['at-03-wrong-chain-id.json', ['wrong_chain']],
  ['at-04-extra-fields.json', []],
  ['at-05-missing-required.json', ['missing_field']],
  ['at-08-wrong-address.json', ['wrong_contract']],
  ['at-09-canonical-divergence.json', ['hash_divergence']],
  ['at-10-unknown-spec-version.json', ['unknown_spec_version']],
])('the check of the manifest %s finds %j', (file, expected) => {
  expect(codes(check(manifest(file)))).toEqual(expected)
})

test("a stated hash that includes a newline, and a publisher's note, become notes and no refusals", () => {
  expect(check(clean).notes).toEqual([
    'the instance states computed_workhash 0x15910c74edbb5327478de30e3e681fe4063ae13f632753fa8c705f118b2a1641, which is the hash of the canonical text with a newline at the end; the hash does not cover this field',
    expect.stringMatching(
      /^the instance contains this text in a field that is not hashed: .*"THIS IS A PLACEHOLDER/,
    ),
  ])
})

const unreachable = { unreachable: 'HTTP 404' }
const specWith = (changes: JsonObject) => ({ spec: { json: { ...specJson, ...changes } } })
const instanceWith = (changes: JsonObject) => ({ instance: { json: { ...clean, ...changes } } })
const emptyEvidence = { e2e_run_evidence: { input: {}, output: {}, watcher: {} } }

test.each<[string, Partial<Record<'spec' | 'instance', ReadManifest>>, ...string[]]>([
  ['a specification that answers 404', { spec: unreachable }, 'manifest_unreachable'],
  ['a manifest that answers 404', { instance: unreachable }, 'manifest_unreachable'],
  ['a manifest that is a list', { instance: { json: [] } }, 'malformed'],
  ['a specification with an unknown field', specWith({ more: 1 }), 'malformed'],
  ['a new specification', specWith({ spec_version: '4.0.0' }), 'unknown_spec_version'],
  ['a specification for another chain', specWith({ chain_id: 1 }), 'wrong_chain'],
  ['the manifest of another pact', instanceWith({ pact_id: 17 }), 'wrong_pact'],
  ['a value of another form', instanceWith({ phase: 'one' }), 'malformed'],
  [
    'a manifest without 19 deep fields',
    instanceWith(emptyEvidence),
    ...Array.from({ length: 19 }, () => 'missing_field'),
  ],
])('a pact is refused for %s', (_name, changes, ...expected) => {
  const manifests = { spec: { json: specJson }, instance: { json: clean }, ...changes }
  const checked = checkManifests(manifests, identity)
  expect(codes(checked)).toEqual(expected)
  for (const { reason } of checked.refusals)
    expect(reason).toMatch(/^the (instance|specification) /)
})

describe('an attestation', () => {
  const worker = evmWallet('worker')
  const stranger = evmWallet('stranger')
  const deadlineMs = Date.UTC(2026, 4, 13)
  const context = {
    ...identity,
    workHash: cleanHash,
    worker: worker.address.toLowerCase(),
    deadlineMs,
    isSignedBy: async (message: string, signature: string, wallet: string) =>
      (await verifyPersonalSign(message, signature, wallet)).valid,
  }
  async function attest(
    changes: Partial<PactAttestation> = {},
    signer = worker,
  ): Promise<PactAttestation> {
    const unsigned = {
      attestation_id: 'a-1',
      chain_id: identity.chainId,
      contract_address: identity.contractAddress,
      pact_id: 16,
      work_hash: cleanHash,
      attested_at: '2026-05-12T10:00:00Z',
      ...changes,
    }
    return { ...unsigned, signature: await signer.sign(attestationMessage(unsigned)) }
  }
  async function verdicts(...attestations: readonly PactAttestation[]) {
    const found = await checkAttestations(attestations, context)
    return found.map((refusals) => refusals.map(({ code }) => code))
  }

  test('an attestation by the worker before the deadline is accepted, and is a replay when repeated', async () => {
    const twice = await attest()
    const other = await attest({ attestation_id: 'a-2' })
    expect(await verdicts(twice, twice, other)).toEqual([[], ['replay'], []])
  })

  test.each([
    ['after the deadline', { attested_at: '2026-05-13T00:00:01Z' }, 'deadline_passed'],
    ['for another chain', { chain_id: 1 }, 'wrong_chain'],
    ['for another contract', { contract_address: `0x${'01'.repeat(20)}` }, 'wrong_contract'],
    ['for another pact', { pact_id: 17 }, 'wrong_pact'],
    ['of another hash', { work_hash: `0x${'00'.repeat(32)}` }, 'hash_divergence'],
  ])('an attestation %s is refused', async (_name, changes, code) => {
    expect(await verdicts(await attest(changes))).toEqual([[code]])
  })

  test('an attestation signed by another wallet, or changed after signing, is refused', async () => {
    expect(await verdicts(await attest({}, stranger))).toEqual([['wrong_signer']])
    const changed = { ...(await attest()), attested_at: '2026-05-11T10:00:00Z' }
    expect(await verdicts(changed)).toEqual([['wrong_signer']])
  })
})

describe('decodePact', () => {
  const word = (value: bigint | number) => value.toString(16).padStart(64, '0')
  const answer = (changes: Readonly<Record<number, bigint>> = {}) =>
    `0x${Array.from({ length: 12 }, (_, at) => word(changes[at] ?? BigInt(at + 1))).join('')}`

  test('decodePact reads the value word by word', () => {
    expect(getPactCall(16)).toBe(`0x3c7bc6b7${word(16)}`)
    expect(decodePact(answer({ 11: 2n, 5: 2n ** 256n - 1n }))).toMatchObject({
      creator: `0x${'1'.padStart(40, '0')}`,
      recipient: `0x${'2'.padStart(40, '0')}`,
      amount: '4',
      deadlineMs: 253_402_300_799_000,
      workSubmittedAtMs: 9000,
      workHash: `0x${word(11)}`,
      status: 'Completed',
    })
  })

  test('decodePact returns null for zeros and refuses another length or status', () => {
    expect(decodePact(`0x${word(0).repeat(12)}`)).toBeNull()
    expect(() => decodePact('0x')).toThrow('twelve words')
    expect(() => decodePact(answer({ 11: 6n }))).toThrow('unknown status')
    expect(() => decodePact(answer({ 0: 2n ** 200n, 11: 0n }))).toThrow('no address')
  })

  test('pactAmount prints amounts exactly', () => {
    const amounts = ['0', '1', '300000000000000000000', '1500000000000000000']
    expect(amounts.map(pactAmount)).toEqual(['0', '0.000000000000000001', '300', '1.5'])
  })
})
