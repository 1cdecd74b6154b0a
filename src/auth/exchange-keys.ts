import { join } from 'node:path'

import { z } from 'zod'

import type { JobIssuer } from '../contract/schemas/job.ts'
import { toBase64 } from '../core/base64.ts'
import type { Random } from '../core/deps.ts'
import { jobExchange } from '../core/job.ts'
import { strictJsonOrNull } from '../core/strict-json.ts'
import { isoTime } from '../core/time.ts'
import { UnusableFileError, readIfExists, replaceFile } from '../files/durable.ts'
import { loadKeyFile } from './key-file.ts'
import type { KeyMaker } from './key-file.ts'
import { signingKeyFromSeed, signingKeyToPem } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

const jobExchangeKeyFile = 'job-exchange.pem'
const retiredFile = 'job-exchange-retired.json'
const OWNER_ONLY = 0o600

const retiredKey = z.strictObject({
  public_key: z.base64().length(44),
  retired_at: z.iso.datetime(),
})
const retiredKeys = z.strictObject({
  retired: z.array(retiredKey),
})

export function exchangeKeyPaths(dir: string): readonly string[] {
  return [join(dir, jobExchangeKeyFile), join(dir, retiredFile)]
}

export interface ExchangeKeys {
  readonly active: SigningKey
  readonly retired: readonly z.infer<typeof retiredKey>[]
}

/** Creates the first key if there is none. @throws UnusableFileError */
export async function loadExchangeKeys(dir: string, random: KeyMaker): Promise<ExchangeKeys> {
  const retired = await readRetired(join(dir, retiredFile))
  const active = await loadKeyFile(join(dir, jobExchangeKeyFile), random)
  const current = toBase64(active.publicKey)
  // An interrupted rotation has listed the active key as retired.
  return { active, retired: retired.filter(({ public_key }) => public_key !== current) }
}

/** The old key is listed first, so that an interruption loses no key. */
export async function rotateExchangeKey(
  dir: string,
  { random, nowMs }: { readonly random: Pick<Random, 'bytes'>; readonly nowMs: number },
): Promise<ExchangeKeys> {
  const { active, retired } = await loadExchangeKeys(dir, null)
  const old = { public_key: toBase64(active.publicKey), retired_at: isoTime(nowMs) }
  const listed = { retired: [old, ...retired] }
  await replaceFile(join(dir, retiredFile), `${JSON.stringify(listed, null, 2)}\n`, OWNER_ONLY)
  const next = signingKeyFromSeed(random.bytes(32))
  await replaceFile(join(dir, jobExchangeKeyFile), signingKeyToPem(next), OWNER_ONLY)
  return { active: next, ...listed }
}

export function issuerOf({ active, retired }: ExchangeKeys): JobIssuer {
  return {
    ...jobExchange,
    public_key: toBase64(active.publicKey),
    ...(retired.length === 0 ? {} : { retired: retired.map((key) => ({ ...key })) }),
  }
}

async function readRetired(path: string): Promise<ExchangeKeys['retired']> {
  const text = await readIfExists(path)
  if (text === null) return []
  const { data } = retiredKeys.safeParse(strictJsonOrNull(text))
  if (data !== undefined) return data.retired
  throw new UnusableFileError(`${path} cannot be used: no list of keys. Restore it.`)
}
