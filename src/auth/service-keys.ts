import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { z } from 'zod'

import type { SigningKeys } from '../contract/schemas/service.ts'
import { toBase64 } from '../core/base64.ts'
import { kidSchema, timeSchema } from '../core/documents.ts'
import { isoTime } from '../core/time.ts'
import { UnusableFileError, readIfExists, refuseLoose } from '../files/durable.ts'
import { isSignedBy } from './crypto.ts'
import { createSecretFile, missingKeyError } from './key-file.ts'
import {
  kidOf,
  signBytes,
  signingKeyFromPem,
  signingKeyFromSeed,
  signingKeyToPem,
  successorText,
} from './signing-key.ts'

export const SIGNING_KEYS_FILE = 'signing-keys.json'
export const OWNER_ONLY = 0o600
const OWNER_ONLY_DIRECTORY = 0o700

const publicPart = {
  kid: kidSchema,
  public_key: z.base64().length(44),
  created_at: timeSchema,
  signed_by: kidSchema.optional(),
  signature: z.base64().length(88).optional(),
}
const keyFileSchema = z.strictObject({
  active: z.strictObject({ ...publicPart, private_key_pem: z.string() }),
  retired: z.array(z.strictObject({ ...publicPart, retired_at: timeSchema })),
})
export type KeyFile = z.infer<typeof keyFileSchema>

export interface Signer {
  readonly kid: string
  /** Ed25519 (RFC 8032), 64 bytes. */
  readonly sign: (bytes: Uint8Array) => Uint8Array
}

type Verdict = 'good' | 'bad' | 'unknown key'

export interface KeyRing {
  readonly kids: ReadonlySet<string>
  /** Accepts signatures by retired keys too. */
  readonly verify: (kid: string, bytes: Uint8Array, signature: Uint8Array) => Verdict
}

export interface Keys {
  readonly signer: Signer
  readonly ring: KeyRing
  readonly publicKeys: SigningKeys
}

/** Creates the file if it is missing. @throws UnusableFileError */
export async function loadKeys({ dir, nowMs }: { readonly dir: string; readonly nowMs: number }) {
  const first: KeyFile = { active: newKey(nowMs), retired: [] }
  await createSecretFile(join(dir, SIGNING_KEYS_FILE), serialise(first))
  return await readKeys(dir)
}

/** @throws UnusableFileError */
export async function readKeys(dir: string): Promise<Keys> {
  const file = await readKeyFile(join(dir, SIGNING_KEYS_FILE))
  await refuseLoose(dir, OWNER_ONLY_DIRECTORY)
  return openKeys(file)
}

/** `before` is the key that the new one replaces; it signs the new one. */
export function newKey(nowMs: number, before?: KeyFile['active']): KeyFile['active'] {
  const key = signingKeyFromSeed(randomBytes(32))
  const public_key = toBase64(key.publicKey)
  const signed = before && {
    signed_by: before.kid,
    signature: Buffer.from(
      signBytes(signingKeyFromPem(before.private_key_pem), Buffer.from(successorText(public_key))),
    ).toString('base64'),
  }
  const created_at = isoTime(nowMs)
  return { kid: key.kid, public_key, created_at, ...signed, private_key_pem: signingKeyToPem(key) }
}

export async function readKeyFile(path: string): Promise<KeyFile> {
  const bytes = await readIfExists(path)
  if (bytes === null) throw missingKeyError(path)
  await refuseLoose(path, OWNER_ONLY)
  try {
    const file = keyFileSchema.parse(JSON.parse(bytes.toString()))
    assertFits(file)
    return file
  } catch (error) {
    const reason = error instanceof MisfitError ? error.message : 'it is not a file of signing keys'
    // The error has no `cause`, since the parser's message would quote the private key in the file.
    throw new UnusableFileError(`${path} cannot be used: ${reason}. Restore it from a backup.`)
  }
}

class MisfitError extends Error {
  override readonly name = 'MisfitError'
}

function assertFits({ active, retired }: KeyFile): void {
  for (const { kid, public_key } of [active, ...retired]) {
    if (kidOf(Buffer.from(public_key, 'base64')) !== kid) {
      throw new MisfitError(`key ${kid} is not named after its public part`)
    }
  }
  const derived = signingKeyFromPem(active.private_key_pem).publicKey
  if (toBase64(derived) !== active.public_key) {
    throw new MisfitError(`the private part of ${active.kid} belongs to another key`)
  }
}

export function serialise(file: KeyFile): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

export function openKeys({ active, retired }: KeyFile): Keys {
  const signingKey = signingKeyFromPem(active.private_key_pem)
  const known = new Map([active, ...retired].map((key) => [key.kid, key.public_key]))
  const { private_key_pem: _, ...published } = active
  const { kid } = active
  return {
    signer: { kid, sign: (bytes) => signBytes(signingKey, bytes) },
    ring: {
      kids: new Set(known.keys()),
      verify: (kid, bytes, signature) => {
        const key = known.get(kid)
        if (key === undefined) return 'unknown key'
        return isSignedBy(bytes, signature, Buffer.from(key, 'base64')) ? 'good' : 'bad'
      },
    },
    publicKeys: {
      keys: [
        { ...published, alg: 'ed25519', status: 'active' },
        ...retired.map((key) => ({ ...key, alg: 'ed25519', status: 'retired' }) as const),
      ],
    },
  }
}
