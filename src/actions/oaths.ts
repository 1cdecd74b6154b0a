import { bodySha256, fillOath, sha256Hex } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { NewOathRow } from '../db/oaths.ts'
import type { CostAdmission } from '../limits/admission.ts'
import type { ActionDeps } from './deps.ts'
import type { OathKind } from './reference.ts'
import { requireSignature, requireWallet } from './signed-body.ts'

export type SwornOath = Omit<NewOathRow, 'handle' | 'action' | 'createdAt'>

/** @throws ApiError 401 for an oath that the wallet has not signed, 503 if its chain is unreachable */
export async function requireOath(
  deps: Pick<ActionDeps, 'reference' | 'signatures' | 'outboundLimits'>,
  oath: {
    readonly kind: OathKind
    readonly json: JsonObject
    readonly wallet: string
    readonly timestamp: string
    readonly signature: string
  },
  costs: CostAdmission,
): Promise<SwornOath> {
  const { kind, json, timestamp, signature } = oath
  const text = deps.reference().oaths.get(kind)
  if (text === undefined) throw new Error(`there is no oath of the kind ${kind}`)
  const message = fillOath(text.text, { wallet: oath.wallet, timestamp })
  const wallet = requireWallet(oath.wallet, 'wallet')
  if (signature === '') throw new ApiError('signature_invalid', 'The oath is not signed')
  await requireSignature(deps, { message, signature, wallet }, costs, 'oath_signature: ')
  return {
    kind,
    oathVersion: text.version,
    wallet: wallet.id,
    messageSha256: sha256Hex(message),
    signatureSha256: sha256Hex(signature),
    bodySha256: bodySha256(json),
    binding: 'statement',
  }
}
