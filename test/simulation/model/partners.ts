/** Signups, profiles, endpoints and tiers of partners. */
import type { RequestFacts, Of } from './intent.ts'
import { rename } from './names.ts'
import { activePartnerOf, dayMs, iso, partnerOf, standingAt } from './reading.ts'
import type { Partner, State } from './state.ts'
import { refused } from './verdict.ts'
import type { Body, Verdict } from './verdict.ts'

/** A signup expires without a first payment. */
const patienceMs = 14 * dayMs

type Own = { readonly handle: string; readonly partner: Partner }

/** The partner of the signer, or the refusal. */
export function writerOf(
  state: State,
  { wallet, isBound }: Pick<RequestFacts, 'wallet' | 'isBound'>,
  nowMs: number,
): Own | Verdict {
  if (activePartnerOf(state, wallet, nowMs) === null) return refused('not_a_partner')
  return ownOf(state, { wallet, isBound })
}

/** The same in any state of the subscription. */
function ownOf(
  state: State,
  { wallet, isBound }: Pick<RequestFacts, 'wallet' | 'isBound'>,
): Own | Verdict {
  const handle = partnerOf(state, wallet)
  const partner = handle === null ? undefined : state.partners.get(handle)
  if (handle === null || partner === undefined) return refused('not_a_partner')
  if (partner.bindsBody && !isBound) return refused('body_signature_required')
  return { handle, partner }
}

export function signup(state: State, request: Of<'signup'>, nowMs: number): Verdict {
  const { intent, wallet, display } = request
  const { handle, name, tier } = intent
  if (partnerOf(state, wallet) !== null) return refused('conflict')
  if (state.partners.has(handle)) return refused('handle_taken')
  const now = iso(nowMs)
  const status = tier === 'free' ? 'active' : 'pending'
  return {
    kind: 'success',
    status: 201,
    answer: { handle, wallet: display, display_name: name, tier, status, created_at: now },
    write: (next) => {
      const none = { url: null, signedMs: null, website: null, bindsBody: false }
      next.partners.set(handle, { wallet, name, tier, status, atMs: nowMs, ...none })
      rename(next, { kind: 'partner', wallet, looks: intent.looks, nowMs })
      next.audit.push(['partner', wallet, handle, 'signupPartner', now])
    },
  }
}

export function attest(state: State, request: Of<'attest'>, nowMs: number): Verdict {
  const { handle, url } = request.intent
  const partner = state.partners.get(handle)
  const signedMs = request.proofs[0]?.timestampMs ?? 0
  if (partner === undefined) return refused('unknown_partner')
  if (standingAt(partner, nowMs) === 'cancelled') return refused('not_a_partner')
  if (partner.wallet !== request.wallet) return refused('forbidden')
  if (partner.signedMs !== null && signedMs < partner.signedMs) return refused('conflict')
  return {
    kind: 'success',
    status: 200,
    answer: { handle, attestation_endpoint_url: url, attestation_signed_at: iso(signedMs) },
    write: (next) => {
      next.partners.set(handle, { ...partner, url, signedMs })
      next.audit.push(['write', request.wallet, handle, 'updateAttestationEndpoint', iso(nowMs)])
    },
  }
}

export function profile(state: State, request: Of<'profile'>, nowMs: number): Verdict {
  const writer = writerOf(state, request, nowMs)
  if ('kind' in writer) return writer
  const { handle, partner } = writer
  const { named, website, bindsBody } = request.intent
  const after = {
    ...partner,
    name: named?.name ?? partner.name,
    website: website ?? partner.website,
    bindsBody: bindsBody ?? partner.bindsBody,
  }
  return {
    kind: 'success',
    status: 200,
    answer: {
      handle,
      display_name: after.name,
      website: after.website ?? undefined,
      attestation_endpoint_url: partner.url,
    },
    write: (next) => {
      next.partners.set(handle, after)
      if (named !== null) {
        rename(next, { kind: 'partner', wallet: request.wallet, looks: named.looks, nowMs })
      }
      next.audit.push(['write', request.wallet, handle, 'updateMyPartner', iso(nowMs)])
    },
  }
}

export function toFree(state: State, request: Of<'free'>, nowMs: number): Verdict {
  const own = ownOf(state, request)
  if ('kind' in own) return own
  const after = { ...own.partner, tier: 'free', status: 'active' } as const
  return changed(request, { handle: own.handle, after, kind: 'free', nowMs })
}

/** May be repeated. */
export function leave(state: State, request: Of<'leave'>, nowMs: number): Verdict {
  const own = ownOf(state, request)
  if ('kind' in own) return own
  const after = { ...own.partner, status: 'cancelled' } as const
  return changed(request, { handle: own.handle, after, kind: 'cancelled', nowMs })
}

function changed(
  { wallet }: Pick<RequestFacts, 'wallet'>,
  of: {
    readonly handle: string
    readonly after: Partner
    readonly kind: 'free' | 'cancelled'
    readonly nowMs: number
  },
): Verdict {
  const { handle, after, kind, nowMs } = of
  const { tier, status } = after
  const action = kind === 'free' ? 'changeSubscription' : 'cancelSubscription'
  const none = { paid_usdc: 0, credit_usdc: 0, from: null, until: null, payer: null, tx_hash: null }
  const answer: Body = { handle, tier, status, periods: [], change: { ...none, kind, tier } }
  return {
    kind: 'success',
    status: 200,
    answer,
    write: (next) => {
      next.partners.set(handle, after)
      next.changes.push([handle, kind, tier, iso(nowMs)])
      next.audit.push(['write', wallet, handle, action, iso(nowMs)])
    },
  }
}

/** Applies the end of an unpaid signup. Returns its problem, or null. */
export function endByClock(state: State, handle: string, nowMs: number): string | null {
  const partner = state.partners.get(handle)
  if (partner?.status !== 'pending') return 'it waits for no payment'
  if (!(nowMs >= partner.atMs + patienceMs)) return 'it may still pay'
  state.partners.set(handle, { ...partner, status: 'cancelled' })
  return null
}
