import { z } from 'zod'

import { isJsonObject } from '../canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical-json.ts'
import { isoTime, parseTime } from '../time.ts'
import {
  canonicalManifest,
  instanceSchema,
  knownSpecVersions,
  pactSpec,
  workHashOf,
} from './manifest.ts'
import type { PactSpec } from './manifest.ts'

export const refusalCodes = [
  'manifest_unreachable',
  'malformed',
  'unknown_spec_version',
  'missing_field',
  'wrong_chain',
  'wrong_contract',
  'wrong_pact',
  'hash_divergence',
  'deadline_passed',
  'wrong_signer',
  'replay',
] as const
export type ManifestRefusalCode = (typeof refusalCodes)[number]

export interface ManifestRefusal {
  readonly code: ManifestRefusalCode
  readonly reason: string
}

export interface PactIdentity {
  readonly pactId: number
  readonly chainId: number
  readonly contractAddress: string
}

export interface CheckedManifest {
  readonly workHash: string | null
  readonly canonicalText: string | null
  readonly spec: PactSpec | null
  readonly refusals: readonly ManifestRefusal[]
  readonly notes: readonly string[]
}

export type ReadManifest =
  | { readonly json: JsonValue }
  | { readonly unreachable: string }
  | { readonly malformed: string }

export function checkManifests(
  read: { readonly spec: ReadManifest; readonly instance: ReadManifest },
  expected: PactIdentity,
): CheckedManifest {
  const unread = [
    ...unreadable('specification', read.spec),
    ...unreadable('instance', read.instance),
  ]
  if (!('json' in read.spec) || !('json' in read.instance)) return refused(unread)
  const versions = versionRefusals('specification', read.spec.json)
  if (versions.length > 0) return refused(versions)
  const spec = pactSpec.safeParse(read.spec.json)
  if (!spec.success) return refused([malformed('specification', firstIssue(spec.error))])
  const instance = read.instance.json
  if (!isJsonObject(instance))
    return refused([malformed('instance', 'it is not an object')], spec.data)
  const canonicalText = canonicalManifest(instance, spec.data.fields)
  const workHash = workHashOf(canonicalText)
  return {
    workHash,
    canonicalText,
    spec: spec.data,
    refusals: [
      ...identityRefusals('specification', spec.data, expected),
      ...versionRefusals('instance', instance),
      ...formRefusals(instance, spec.data),
      ...identityRefusals('instance', instance, expected),
      ...claimRefusals(instance, workHash),
    ],
    notes: [...hashNotes(instance, workHash, canonicalText), ...ownNote(instance, spec.data)],
  }
}

function refused(
  refusals: readonly ManifestRefusal[],
  spec: PactSpec | null = null,
): CheckedManifest {
  return { workHash: null, canonicalText: null, spec, refusals, notes: [] }
}

/** One refusal if the condition holds. */
function refusalIf(isBad: boolean, code: ManifestRefusalCode, reason: string): ManifestRefusal[] {
  return isBad ? [{ code, reason }] : []
}

function unreadable(name: string, read: ReadManifest): ManifestRefusal[] {
  if ('json' in read) return []
  if ('malformed' in read) return [malformed(name, read.malformed)]
  const reason = `the ${name} cannot be read: ${read.unreachable}`
  return [{ code: 'manifest_unreachable', reason }]
}

function malformed(name: string, problem: string): ManifestRefusal {
  return { code: 'malformed', reason: `the ${name} is malformed: ${problem}` }
}

function versionRefusals(name: string, json: JsonValue): ManifestRefusal[] {
  const version = isJsonObject(json) ? json['spec_version'] : undefined
  if (typeof version !== 'string' || knownSpecVersions.includes(version)) return []
  const reason = `the ${name} has version ${version.slice(0, 20)}; known versions: ${knownSpecVersions.join(', ')}`
  return [{ code: 'unknown_spec_version', reason }]
}

function formRefusals(instance: JsonObject, spec: PactSpec): ManifestRefusal[] {
  const parsed = instanceSchema(spec.fields).safeParse(instance)
  if (parsed.success) return []
  return parsed.error.issues.map((issue) => {
    const place = issue.path.map(String).join('.')
    return isMissing(instance, issue.path)
      ? { code: 'missing_field', reason: `the instance is missing the required field ${place}` }
      : malformed('instance', `${place}: ${issue.message}`)
  })
}

function isMissing(instance: JsonObject, path: readonly PropertyKey[]): boolean {
  let at: JsonValue | undefined = instance
  for (const step of path) {
    at =
      isJsonObject(at) && typeof step === 'string' && Object.hasOwn(at, step) ? at[step] : undefined
  }
  return at === undefined
}

function identityRefusals(
  name: string,
  manifest: JsonObject | PactSpec,
  expected: PactIdentity,
): ManifestRefusal[] {
  const {
    chain_id: chainId,
    contract_address: address,
    pact_id: pactId,
  }: Partial<JsonObject> = manifest
  const refusals: ManifestRefusal[] = []
  if (typeof chainId === 'number' && chainId !== expected.chainId) {
    const reason = `the ${name} names chain ${chainId}; the escrow is on ${expected.chainId}`
    refusals.push({ code: 'wrong_chain', reason })
  }
  if (
    typeof address === 'string' &&
    address.toLowerCase() !== expected.contractAddress.toLowerCase()
  ) {
    const reason = `the ${name} names the contract ${address.slice(0, 80)}; the escrow is ${expected.contractAddress}`
    refusals.push({ code: 'wrong_contract', reason })
  }
  if (typeof pactId === 'number' && pactId !== expected.pactId) {
    const reason = `the ${name} belongs to pact ${pactId}, not to pact ${expected.pactId}`
    refusals.push({ code: 'wrong_pact', reason })
  }
  return refusals
}

function claimRefusals(instance: JsonObject, workHash: string): ManifestRefusal[] {
  const claimed = instance['workhash_claimed_by_publisher']
  if (claimed === undefined || claimed === workHash) return []
  return [divergence('the publisher claims', shown(claimed), workHash)]
}

export function divergence(who: string, stated: string, workHash: string): ManifestRefusal {
  const reason = `${who} the work hash ${stated}; the manifest hashes to ${workHash}`
  return { code: 'hash_divergence', reason }
}

function hashNotes(instance: JsonObject, workHash: string, canonicalText: string): string[] {
  const stated = instance['computed_workhash']
  if (stated === undefined || stated === workHash) return []
  const newline = workHashOf(`${canonicalText}\n`) === stated
  return [
    `the instance states computed_workhash ${shown(stated)}, which is ${newline ? 'the hash of the canonical text with a newline at the end' : 'not the hash of the instance'}; the hash does not cover this field`,
  ]
}

const MAX_QUOTE = 300

function ownNote(instance: JsonObject, { fields }: PactSpec): string[] {
  const note = instance['_note']
  if (typeof note !== 'string' || '_note' in fields) return []
  return [
    `the instance contains this text in a field that is not hashed: "${note.slice(0, MAX_QUOTE)}"`,
  ]
}

function shown(value: JsonValue): string {
  return typeof value === 'string' ? value.slice(0, 80) : '(not a text)'
}

function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues
  return issue === undefined
    ? 'it does not have the expected form'
    : `${issue.path.map(String).join('.')}: ${issue.message}`
}

export const pactAttestation = z.object({
  attestation_id: z.string().regex(/^[A-Za-z0-9._-]{1,80}$/),
  chain_id: z.int(),
  contract_address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  pact_id: z.int().min(1),
  work_hash: z.string().regex(/^0x[0-9a-f]{64}$/),
  attested_at: z.string().refine((text) => parseTime(text) !== null, 'is not an RFC 3339 time'),
  signature: z.string().regex(/^0x[0-9a-f]{130}$/),
})
export type PactAttestation = z.infer<typeof pactAttestation>

export function attestationMessage(attestation: Omit<PactAttestation, 'signature'>): string {
  const { attestation_id: id, chain_id: chain, contract_address: contract } = attestation
  const { pact_id: pact, work_hash: hash, attested_at: at } = attestation
  return `pact-attestation:v1:${chain}:${contract.toLowerCase()}:${pact}:${hash}:${id}:${at}`
}

export interface AttestationContext extends PactIdentity {
  readonly workHash: string
  /** The escrow's recipient, lower case. */
  readonly worker: string
  readonly deadlineMs: number | null
  readonly isSignedBy: (message: string, signature: string, wallet: string) => Promise<boolean>
}

/** Returns the verdicts in the order of the attestations. A repeated id counts as a replay. */
export async function checkAttestations(
  attestations: readonly PactAttestation[],
  context: AttestationContext,
): Promise<readonly (readonly ManifestRefusal[])[]> {
  const seen = new Set<string>()
  const verdicts: (readonly ManifestRefusal[])[] = []
  for (const attestation of attestations) {
    const { attestation_id: id, work_hash: hash, attested_at: at, signature } = attestation
    const { workHash, worker, deadlineMs, isSignedBy } = context
    const isSigned = await isSignedBy(attestationMessage(attestation), signature, worker)
    const isLate = deadlineMs !== null && (parseTime(at) ?? Infinity) > deadlineMs
    verdicts.push([
      ...refusalIf(
        seen.has(id),
        'replay',
        `the attestation ${id} was submitted before and counts once`,
      ),
      ...identityRefusals('attestation', attestation, context),
      ...(hash === workHash ? [] : [divergence('the attestation states', hash, workHash)]),
      ...refusalIf(
        isLate,
        'deadline_passed',
        `attested at ${at}, after the deadline ${isoTime(deadlineMs ?? 0)}`,
      ),
      ...refusalIf(!isSigned, 'wrong_signer', `the signature is not by the worker ${worker}`),
    ])
    seen.add(id)
  }
  return verdicts
}
