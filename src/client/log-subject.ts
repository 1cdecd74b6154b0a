/** Verifies a proof, a receipt or a published document in the log of a site. Runs in browsers, too. */
import { sha256 } from '@noble/hashes/sha2'
import { z } from 'zod'

import {
  canonicalize,
  isJsonObject,
  receiptOfSubmission,
  zeroSignatureFields,
} from '../core/canonical-json.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { manifestSchema } from '../core/documents.ts'
import { bytesToHex } from '../core/hex.ts'
import { strictJsonOrNull } from '../core/strict-json.ts'
import { parseKey } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { LogError, createLogReader, failedCheck, findLast } from './log.ts'
import type { CheckpointStore, LogReader, LogSource } from './log.ts'

interface Site extends Pick<LogSource, 'isSigned'> {
  /** Returns the file at a path of the site, null for 404. */
  readonly read: (path: string) => Promise<Uint8Array | null>
  readonly store: CheckpointStore
}

const registry = z.object({
  platforms: z.array(z.object({ platform: z.string(), revoked_index: z.int().optional() })),
})

/** A key counts for receipts that were logged before its revocation. */
export function revocationChecks(
  platforms: readonly { readonly platform: string; readonly revoked_index?: number | undefined }[],
  issuer: unknown,
  index: number,
): readonly Check[] {
  const revoked = platforms.find(({ platform }) => platform === issuer)?.revoked_index
  if (revoked === undefined) return []
  const good = index < revoked
  const order = good ? 'after' : 'before'
  return [check('key', good, `entry ${revoked} revokes it, ${order} the receipt was logged`)]
}

/** The witnesses that the site names (c2sp.org/tlog-policy). Readers can demand others with the commands. */
function policyIn(text: string): { readonly witnesses: NoteKey[]; readonly quorum: number } {
  const keys = [...text.matchAll(/^witness \S+ (\S+)/gm)].map(([, key = '']) => parseKey(key))
  const quorum = Number(/^group witnesses (\d+) /m.exec(text)?.[1] ?? keys.length)
  return { witnesses: keys.filter((key) => key !== null), quorum }
}

/** Returns the steps up to the first that fails. */
export async function verifyInLog(subject: Uint8Array, site: Site): Promise<readonly Check[]> {
  const checks: Check[] = []
  const note = (one: Check) => checks.push(one)
  try {
    const key = parseKey(textOf(await required(site, '/log/vkey')).trim())
    if (key?.type !== 'log') throw new LogError('key', 'the site has no verifier key of a log')
    const read = (path: string) => site.read(`/log/${path}`)
    const policy = policyIn(textOf((await site.read('/log/policy')) ?? new Uint8Array()))
    const log = createLogReader({ ...site, ...policy, key, read }, site.store)
    const text = textOf(subject)
    const receipt = receiptIn(subject)
    if (text.startsWith('c2sp.org/tlog-proof@v1\n')) await log.prove(text, {}, note)
    else if (receipt === null) await verifyDocument(subject, { site, log, note })
    else {
      const id = `rcp_${sha256Hex(canonicalize(zeroSignatureFields(receiptOfSubmission(receipt))))}`
      note(check('receipt', true, `its content has the id ${id}`))
      const proof = textOf(await required(site, `/api/v1/receipts/${id}/proof`))
      const expected = { kind: 'receipt', id, sha256: sha256Hex(canonicalize(receipt)) } as const
      const { index } = await log.prove(proof, expected, note)
      const issuer = receipt['platform']
      const listed = issuer === undefined ? null : await required(site, '/api/v1/platforms')
      const parsed = registry.safeParse(
        listed === null ? { platforms: [] } : strictJsonOrNull(listed),
      )
      if (!parsed.success) throw new LogError('key', '/api/v1/platforms is malformed')
      const { platforms } = parsed.data
      for (const one of revocationChecks(platforms, issuer, index)) note(one)
    }
  } catch (error) {
    note(failedCheck(error))
  }
  return checks
}

async function verifyDocument(
  document: Uint8Array,
  { site, log, note }: { site: Site; log: LogReader; note: (one: Check) => void },
): Promise<void> {
  const bytes = await required(site, '/snapshot.json')
  const parsed = manifestSchema.safeParse(strictJsonOrNull(bytes))
  if (!parsed.success) throw new LogError('manifest', '/snapshot.json is malformed')
  const { documents, version } = parsed.data
  const [digest, manifestDigest] = [document, bytes].map((one) => bytesToHex(sha256(one)))
  const found = documents.find((entry) => entry.sha256 === digest)
  if (found === undefined && digest !== manifestDigest) {
    throw new LogError(
      'document',
      `version ${version} of the manifest has no document with the SHA-256 ${digest}`,
    )
  }
  note(check('document', true, `${found?.path ?? '/snapshot.json'}, version ${version}`))
  const expected = { kind: 'snapshot', sha256: manifestDigest ?? '' } as const
  const proof = await site.read('/snapshot.json.tlog-proof')
  if (proof !== null) {
    await log.prove(textOf(proof), expected, note)
    return
  }
  const tree = await log.check()
  for (const one of tree.checks) note(one)
  note(await findLast(tree, expected))
}

async function required({ read }: Site, path: string): Promise<Uint8Array> {
  const bytes = await read(path)
  if (bytes === null) throw new LogError('answer', `the site has no ${path}`)
  return bytes
}

/** A receipt, alone or in an answer of the API; null for anything else. */
function receiptIn(bytes: Uint8Array): JsonObject | null {
  const value = strictJsonOrNull(bytes)
  if (!isJsonObject(value)) return null
  const inner = value['content']
  const receipt = isJsonObject(inner) ? inner : value
  const isSigned = 'worker_signature' in receipt || 'platform_signature' in receipt
  return isSigned ? receipt : null
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const sha256Hex = (text: string): string => bytesToHex(sha256(new TextEncoder().encode(text)))
