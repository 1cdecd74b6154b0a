/** The partner bearer, at times forged. */
import { messages, sha256Hex } from '../../../src/auth/messages.ts'
import { partnerHeaders, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Proof } from '../model/intent.ts'
import { rawOf, sentOf, targetOf } from './sent.ts'
import type { Circumstances, Parts, Sent } from './sent.ts'
import { wallets } from './wallets.ts'

/** A write signed by the wallet, with further proofs. */
export async function borne(
  at: Circumstances,
  write: Pick<Parts, 'intent' | 'params' | 'body' | 'flaws'> & {
    readonly wallet: TestWallet
    readonly timestampMs: number
    readonly proofs?: readonly Proof[]
    readonly wantsBody?: boolean
  },
): Promise<Sent> {
  const { wallet, timestampMs, proofs = [], wantsBody = false, ...parts } = write
  const raw = rawOf(parts.body)
  const target = targetOf(parts.intent.kind, parts.params)
  const by = await bearer(at, wallet, { ...target, raw, timestampMs })
  const lacks = wantsBody && !by.isBound ? ['body_signature_required'] : []
  return sentOf(at, {
    ...parts,
    wallet,
    proofs: [by.proof, ...proofs],
    headers: by.headers,
    flaws: [...(parts.flaws ?? []), ...by.flaws, ...lacks],
    isBound: by.isBound,
  })
}

async function bearer(
  { chance, isWilling }: Circumstances,
  wallet: TestWallet,
  target: {
    readonly method: string
    readonly path: string
    readonly raw: string
    readonly timestampMs: number
  },
): Promise<{ headers: Record<string, string>; proof: Proof; flaws: string[]; isBound: boolean }> {
  const { method, path, raw, timestampMs } = target
  const timestamp = String(timestampMs)
  const binding = isWilling || chance.happens(0.8) ? 'body' : 'path'
  const headers = await partnerHeaders(wallet, target, { nowMs: timestampMs, binding })
  const message =
    binding === 'path'
      ? messages.partnerAuthV1(testService, { timestamp, method, path })
      : messages.partnerAuthV2(testService, {
          timestamp,
          method,
          path,
          rawSha256: sha256Hex(raw),
        })
  const proof = { wallet: wallet.id, sha: sha256Hex(message), timestampMs }
  const isBound = binding === 'body'
  if (isWilling || !chance.happens(0.04)) return { headers, proof, flaws: [], isBound }
  const forger = wallets.find(({ id }) => id !== wallet.id) ?? wallet
  const forged = { Authorization: `Bearer ${wallet.address}:${await forger.sign(message)}` }
  return { headers: { ...headers, ...forged }, proof, flaws: ['signature_invalid'], isBound }
}
