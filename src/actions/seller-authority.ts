/** Whether the signer of an x402 receipt may speak for the seller: a signature alone shows only that some key signed. */
import { z } from 'zod'

import { didOf, publicJwk } from '../auth/offer-receipt.ts'
import type { Artifact } from '../auth/offer-receipt.ts'
import { ApiError } from '../contract/errors.ts'
import { strictJsonOrNull } from '../core/strict-json.ts'
import type { Wallet } from '../core/wallet.ts'
import type { CostAdmission } from '../limits/admission.ts'
import { OutboundError } from '../outbound/pinned-fetch.ts'
import { outboundUserAgent } from '../outbound/user-agent.ts'
import type { ActionDeps } from './deps.ts'

type AuthorityDeps = Pick<ActionDeps, 'outbound' | 'outboundLimits' | 'site'>
type Signed = Pick<Artifact<unknown>, 'signer' | 'isSignedBy'>

const limits = { timeoutMs: 5000, maxAnswerBytes: 64 * 1024 } as const

/** Returns `pay_to`, or the `kid`. The DID document shows only the keys of today. @throws ApiError 401, 422 or 503 */
export async function requireAuthority(
  deps: AuthorityDeps,
  costs: CostAdmission,
  artifacts: readonly [Signed, ...Signed[]],
  { payee, resourceUrl }: { readonly payee: Wallet; readonly resourceUrl: string },
): Promise<string> {
  const [{ signer }] = artifacts
  if (artifacts.some((artifact) => artifact.signer !== signer)) {
    throw new ApiError('refused', 'Offer and receipt have different signers')
  }
  if (artifacts.every(({ isSignedBy }) => isSignedBy === null)) {
    if (signer === payee.id) return 'pay_to'
    throw new ApiError(
      'refused',
      `The signer ${signer} is not the paid wallet ${payee.display}; with another key, sign a JWS whose kid is a did:web key of the host of resourceUrl`,
    )
  }
  const resource = URL.canParse(resourceUrl) ? new URL(resourceUrl) : null
  if (resource?.protocol !== 'https:') {
    throw new ApiError('refused', 'resourceUrl must be an https address, as its host lists the key')
  }
  const did = didOf(resource.origin)
  if (!signer.startsWith(`${did}#`)) {
    throw new ApiError('refused', `The kid ${signer} is no key of ${did}, the host of resourceUrl`)
  }
  const address = `${resource.origin}/.well-known/did.json`
  const document = await deps.outboundLimits.rail.run(() => {
    costs.chargeOutbound()
    return readDocument(deps, address, did)
  }, costs.network)
  const isSigner = (id: string) => [did + id, id].includes(signer)
  const listed = document.verificationMethod.find(({ id }) => isSigner(id))
  if (listed?.publicKeyJwk === undefined || !document.assertionMethod.some(isSigner)) {
    const wanted = `publicKeyJwk for ${signer} in verificationMethod and assertionMethod`
    throw new ApiError('refused', `${address} has no ${wanted} now`)
  }
  const { publicKeyJwk: key } = listed
  if (artifacts.every(({ isSignedBy }) => isSignedBy?.(key) === true)) return signer
  throw new ApiError('signature_invalid', `offer_receipt is not signed by the key of ${signer}`)
}

const didDocument = z.object({
  id: z.string(),
  verificationMethod: z
    .array(z.object({ id: z.string(), publicKeyJwk: publicJwk.optional().catch(undefined) }))
    .max(100),
  assertionMethod: z.array(z.string().catch('')).max(100),
})

async function readDocument({ outbound, site }: AuthorityDeps, url: string, did: string) {
  const headers = { Accept: 'application/json', 'User-Agent': outboundUserAgent(site.url) }
  const request = { url, method: 'GET', headers, body: '' } as const
  const answer = await outbound.send(request, limits).catch((error: unknown) => {
    if (!(error instanceof OutboundError)) throw error
    const code = error.fault.startsWith('refused') ? 'refused' : 'unavailable'
    throw new ApiError(code, `${url} was not read: ${error.message}`)
  })
  const { data } = didDocument.safeParse(
    answer.body === null ? null : strictJsonOrNull(answer.body),
  )
  if (answer.status === 200 && data?.id === did) return data
  throw new ApiError('refused', `${url} is no DID document of ${did} (status ${answer.status})`)
}
