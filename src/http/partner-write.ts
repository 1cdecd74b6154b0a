import type { PartnerWrite } from '../actions/partner-write.ts'
import type { RemoveContext } from './handlers.ts'

/** What actions of partners are given of a request. @throws ApiError 401 */
export async function partnerWrite(
  sent: Pick<RemoveContext, 'request' | 'rawSha256' | 'partner'>,
): Promise<PartnerWrite> {
  return { request: sent.request, rawSha256: sent.rawSha256, proof: await sent.partner() }
}
