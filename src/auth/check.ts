import { verifyEd25519 } from './ed25519.ts'
import { verifyPersonalSign } from './eip191.ts'
import type { SignatureVerdict } from './verdict.ts'

/** A question that arithmetic alone can answer: no chain, no rows, no clock. */
export type SignatureCheck =
  | {
      readonly scheme: 'eip191'
      readonly message: string
      /** As sent. */
      readonly signature: string
      /** In lower case. */
      readonly address: string
    }
  | {
      readonly scheme: 'ed25519'
      readonly message: string
      /** Padded base64, of the signature and of the key. */
      readonly signature: string
      readonly publicKey: string
    }

/** @throws SchemeUnavailableError where nobody could do it. */
export type CheckSignature = (check: SignatureCheck) => Promise<SignatureVerdict>

/** Checks it on the thread that asks. */
export async function checkHere(check: SignatureCheck): Promise<SignatureVerdict> {
  const { message, signature } = check
  if (check.scheme === 'eip191') return await verifyPersonalSign(message, signature, check.address)
  const publicKey = Buffer.from(check.publicKey, 'base64')
  return verifyEd25519(message, Buffer.from(signature, 'base64'), publicKey)
}

/** The question of a signature and a key that are there as bytes. */
export function ed25519Check(
  message: string,
  signature: Uint8Array,
  publicKey: Uint8Array,
): SignatureCheck {
  return {
    scheme: 'ed25519',
    message,
    signature: base64Of(signature),
    publicKey: base64Of(publicKey),
  }
}

function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
