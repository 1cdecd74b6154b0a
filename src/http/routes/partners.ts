/** Partners: signup, records, the history of oaths, the attestation endpoint. */
import type { z } from 'zod'

import { setAttestationEndpoint } from '../../actions/attestation.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { partnerAt } from '../../actions/partner-access.ts'
import { oathView, ownPartnerView } from '../../actions/partner-view.ts'
import { signupPartner, updatePartner } from '../../actions/partners.ts'
import { changeSubscription } from '../../actions/subscriptions/change.ts'
import { cancelOwnSubscription } from '../../actions/subscriptions/free.ts'
import { ApiError } from '../../contract/errors.ts'
import {
  attestationBody,
  partnerChanges,
  signupBody,
  subscriptionBody,
} from '../../contract/schemas/partner.ts'
import type { oathHistory } from '../../contract/schemas/partner.ts'
import { lookAlikes } from '../../db/names.ts'
import { countOaths, oathsOfHandle } from '../../db/oaths.ts'
import { findPartner } from '../../db/partners/partners.ts'
import { partnerView } from '../../db/partners/view.ts'
import { fingerprintOf } from '../client-fingerprint.ts'
import { read, remove, write } from '../handlers.ts'
import { cutPage, pageOf } from '../pages.ts'
import { partnerWrite } from '../partner-write.ts'
import { paymentHeaderOf } from '../payment-header.ts'

const LIST = 'oaths'

/** `getMyPartner` stands before `getPartner`: the first path that fits answers. */
export function partnerHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    signupPartner: write(signupBody, async ({ body, json, request, partner, ...from }) =>
      signupPartner(deps, {
        body,
        json,
        request,
        proof: await partner(),
        fingerprint: fingerprintOf(from),
      }),
    ),
    getMyPartner: read(async ({ partner, nowMs, walletCallsLeft }) => {
      const { wallet } = await partner()
      const found = await findPartner(reader, { wallet: wallet.id })
      if (found === null) throw new ApiError('not_a_partner')
      const current = partnerAt(found, nowMs)
      const seen = { callsLeft: walletCallsLeft(), nowMs }
      return { body: await ownPartnerView(reader, deps, current, seen) }
    }),
    updateMyPartner: write(partnerChanges, async (sent) =>
      updatePartner(deps, { ...(await partnerWrite(sent)), body: sent.body }),
    ),
    changeSubscription: write(subscriptionBody, async (sent) => {
      const { body, incoming } = sent
      return await changeSubscription(deps, {
        ...(await partnerWrite(sent)),
        tier: body.tier,
        payment: paymentHeaderOf(incoming),
        isGone: () => incoming.socket.destroyed,
      })
    }),
    cancelSubscription: remove(async (sent) =>
      cancelOwnSubscription(deps, await partnerWrite(sent)),
    ),
    getPartner: read(async ({ params, nowMs }) => {
      const found = await findPartner(reader, { handle: params['handle'] ?? '' })
      if (found === null) throw new ApiError('unknown_partner')
      const view = partnerView(partnerAt(found, nowMs))
      const marked = await lookAlikes(reader, 'partner', [found.wallet])
      return { body: marked.has(found.wallet) ? { ...view, looks_like_another: true } : view }
    }),
    listPartnerOaths: read(async ({ params, query }) => {
      const { handle = '' } = params
      const { limit, before } = pageOf(LIST, query)
      if ((await findPartner(reader, { handle })) === null) throw new ApiError('unknown_partner')
      const [rows, total] = await Promise.all([
        oathsOfHandle(reader, handle, { limit: limit + 1, before }),
        countOaths(reader, handle),
      ])
      const page = cutPage(LIST, rows, limit)
      const body: z.infer<typeof oathHistory> = {
        count: page.rows.length,
        total,
        oaths: page.rows.map(oathView),
        ...page.next,
      }
      return { body }
    }),
    updateAttestationEndpoint: write(
      attestationBody,
      async ({ params, body, request, rawSha256 }) =>
        setAttestationEndpoint(deps, {
          handle: params['handle'] ?? '',
          body,
          request,
          rawSha256,
        }),
    ),
  }
}
