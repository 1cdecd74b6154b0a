import { verifyEd25519 } from './ed25519.ts'
import { verifyPersonalSign } from './eip191.ts'
import type { SignatureVerdict } from './verdict.ts'

export type SignatureCheck =
  | {
      readonly scheme: 'eip191'
      readonly message: string
      readonly signature: string
      readonly address: string
    }
  | {
      readonly scheme: 'ed25519'
      readonly message: string
      /** Signature and key in padded base64. */
      readonly signature: string
      readonly publicKey: string
    }

/** @throws SchemeUnavailableError if the check was not possible */
export type CheckSignature = (check: SignatureCheck) => Promise<SignatureVerdict>

export async function checkHere(check: SignatureCheck): Promise<SignatureVerdict> {
  const { message, signature } = check
  if (check.scheme === 'eip191') return await verifyPersonalSign(message, signature, check.address)
  const publicKey = Buffer.from(check.publicKey, 'base64')
  return verifyEd25519(message, Buffer.from(signature, 'base64'), publicKey)
}

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
