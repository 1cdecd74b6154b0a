import { setAttestationEndpoint } from '../../actions/attestation.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { partnerAt } from '../../actions/partner-access.ts'
import {
  signupPartner,
  updatePartner,
  oathView,
  ownPartnerView,
} from '../../actions/partner-profile.ts'
import { changePartnerWallet } from '../../actions/partner-wallet.ts'
import { changeSubscription, changeWithoutMoney } from '../../actions/subscriptions/change.ts'
import { ApiError } from '../../contract/errors.ts'
import type { Partner } from '../../contract/schemas/partner.ts'
import { HANDLE } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { oathRows } from '../../db/oaths.ts'
import { findPartner, markedPartners, partnerRows } from '../../db/partners.ts'
import type { Db } from '../../db/schema.ts'
import type { Handlers } from '../handler-types.ts'
import { readPage } from '../lists.ts'
import { payerSignatureOf, paymentHeaderOf } from '../single-headers.ts'

/** @throws ApiError `unknown_partner` */
export async function publicPartner(db: Db, handle: string, nowMs: number): Promise<Partner> {
  const found = HANDLE.test(handle) ? await findPartner(db, { handle }) : null
  const [view] = found === null ? [] : await markedPartners(db, [partnerAt(found, nowMs)])
  if (view === undefined) throw new ApiError('unknown_partner')
  return view.partner
}

export function partnerHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    signupPartner: ({ body }, context) => signupPartner(deps, { ...context, body }),
    async getMyPartner(_input, { partner, nowMs, walletCallsLeft }) {
      const { wallet } = await partner()
      const found = await findPartner(reader, { wallet: wallet.id })
      if (found === null) throw new ApiError('not_a_partner')
      const seen = { callsLeft: walletCallsLeft(), nowMs }
      return { body: await ownPartnerView(reader, deps, partnerAt(found, nowMs), seen) }
    },
    updateMyPartner: ({ body }, context) => updatePartner(deps, { ...context, body }),
    async changeSubscription({ body }, context) {
      const { incoming } = context
      return await changeSubscription(deps, {
        ...context,
        tier: body.tier,
        payment: paymentHeaderOf(incoming),
        payerSignature: payerSignatureOf(incoming),
        isGone: () => incoming.socket.destroyed,
      })
    },
    cancelSubscription: (_input, context) => changeWithoutMoney(deps, context, 'cancelled'),
    getPartner: async ({ params }, { nowMs }) => ({
      body: await publicPartner(reader, params.handle, nowMs),
    }),
    async listPartners({ query }, { nowMs, list }) {
      const { rows, fields } = await readPage(list, query, partnerRows)
      const partners = rows.map(({ partner }) => partner)
      return { body: { ...fields, partners, computed_at: isoTime(nowMs) } }
    },
    async listPartnerOaths({ params: { handle }, query }, { list }) {
      if ((await findPartner(reader, { handle })) === null) throw new ApiError('unknown_partner')
      const { rows, fields } = await readPage(list, query, oathRows(handle))
      return { body: { ...fields, oaths: rows.map(oathView) } }
    },
    changePartnerWallet: ({ params, body }, context) =>
      changePartnerWallet(deps, { ...context, ...params, body }),
    updateAttestationEndpoint: ({ params, body }, context) =>
      setAttestationEndpoint(deps, { ...context, ...params, body }),
  } satisfies Partial<Handlers>
}
