/** One call of every operation that answers JSON, as the client sends it. */
import { z } from 'zod'

import { messages } from '../../src/auth/messages.ts'
import { prepareCall } from '../../src/client/call.ts'
import type { Caller, SignedText } from '../../src/client/prepare.ts'
import { signReceipt } from '../../src/client/sign-receipt.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import type { ReceiptKey, WalletSigner } from '../../src/client/signers.ts'
import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { oathList } from '../../src/contract/schemas/partner.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'

export interface SentCall {
  readonly id: string
  readonly signed: readonly SignedText[]
  /** As sent; null without a body. */
  readonly body: unknown
  readonly status: number
  readonly headers: Headers
  readonly answer: unknown
}

/** Two partners, a wallet that the ledger does not know, and the key of its receipts. */
export interface People {
  readonly poster: WalletSigner
  readonly bidder: WalletSigner
  readonly newcomer: WalletSigner
  /** Receives the partner of the newcomer. */
  readonly heir: WalletSigner
  readonly receiptKey: ReceiptKey
  /** Gives the poster a tier that includes every sold read. */
  readonly raiseTier: () => Promise<void>
  /** What writes name; by default what the documents list. */
  readonly known?: {
    readonly rail: string
    readonly skill: string
    readonly oaths: readonly OathText[]
  }
}

const named = z.record(z.string(), z.unknown())
const rows = z.array(named)

export const jsonRoutes: readonly Route[] = routes.filter(({ answers }) =>
  Object.entries(answers).some(
    ([status, { schema, contentType = 'application/json' }]) =>
      Number(status) < 300 && schema !== undefined && contentType === 'application/json',
  ),
)

/** Names what it calls from the lists of the ledger. */
export async function callEveryOperation(
  caller: Omit<Caller, 'signer'>,
  { poster, bidder, newcomer, heir, receiptKey, raiseTier, known }: People,
): Promise<readonly SentCall[]> {
  const calls: SentCall[] = []
  const send = async (
    id: RouteId,
    parts: NonNullable<Parameters<typeof prepareCall>[2]> = {},
    signer: WalletSigner | null = null,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const { request } = await prepareCall({ ...caller, signer }, id, parts)
    const { url, method, headers, body, signed } = request
    const response = await fetch(url, { method, headers, body })
    const { status } = response
    const answer: unknown = await response.json()
    const sent: unknown = body === null ? null : JSON.parse(body)
    calls.push({ id, signed, body: sent, status, headers: response.headers, answer })
    return named.parse(answer)
  }
  const first = (list: unknown, key: string) =>
    z.string().catch('nothing').parse(rows.parse(list)[0]?.[key])

  const lists = new Map<string, Readonly<Record<string, unknown>>>()
  for (const { id, method, access, params } of jsonRoutes) {
    if (method !== 'GET' || access !== 'public' || params !== undefined) continue
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an id of the registry
    lists.set(id, await send(id as RouteId))
  }
  const listed = (id: RouteId, list: string, key: string) => first(lists.get(id)?.[list], key)
  const { oaths } = known ?? oathList.parse(lists.get('listOaths'))

  const paying = listed('listOpportunities', 'opportunities', 'rail')
  const rail = known?.rail ?? paying
  const listedSkill = listed('listSkills', 'skills', 'slug')
  const skill = known?.skill ?? listedSkill
  const { evidence_uri: evidence } = await send('getRail', { params: { name: paying } })
  const [sha256 = '0'.repeat(64)] = /[0-9a-f]{64}/.exec(String(evidence)) ?? []
  await send('getEvidence', { params: { sha256 } })
  await send('getRailHistory', { params: { name: paying } })
  await send('getSkill', { params: { slug: listedSkill } })
  const pact = { params: { id: listed('listPacts', 'in_flight', 'pact_id') } }
  for (const id of ['getPact', 'getPactSpec', 'getPactInstance'] as const) await send(id, pact)

  const profile = { display_name: 'Fennel', skills: [skill] }
  const worker = { ...profile, receipt_key: receiptKey.publicKey }
  await send('registerWorker', { body: worker, oath: newestOath(oaths, 'worker') }, newcomer)
  const oath = newestOath(oaths, 'claim')
  await send('claimSpot', { body: { display_name: 'Fennel' }, oath }, newcomer)
  await send('claimSpot', { body: { display_name: 'Fennel', email: 'fennel@mail.example' } })
  await send('getWorker', { params: { wallet: newcomer.wallet } })
  const earner = { wallet: listed('getLeaderboard', 'leaderboard', 'wallet') }
  const { statements } = await send('listStatements', { params: earner })
  await send('getStatement', { params: { ...earner, month: first(statements, 'month') } })
  const nowMs = caller.clock.now()
  const facts = {
    rail,
    to_wallet: newcomer.wallet,
    amount_usdc: 25,
    asset_symbol: 'USDC' as const,
    occurred_at: isoTime(nowMs - dayMs),
    summary: 'Proofreading of a report',
  }
  const submitted = await send('submitReceipt', { body: signReceipt(facts, receiptKey) }, newcomer)
  const receipt = String(submitted['receipt_id'])
  await send('getReceipt', { params: { id: receipt } })
  const claim = { target: { receipt_id: receipt }, claim: 'The amount was another one.' }
  const opened = await send('openDispute', { body: claim }, newcomer)
  const dispute = { params: { id: String(opened['dispute_id']) } }
  await send('getDispute', dispute)
  const body = { dispute_id: dispute.params.id }
  await send('withdrawDispute', { ...dispute, body }, newcomer)
  const proposal = { name: 'Tide tables', category: 'data-ml', surface: [rail] }
  await send('proposeSkill', { body: { ...proposal, description: 'Tables of tides for ports.' } })
  await send('submitFeedback', { body: { message: 'Thank you for the evidence.', rating: 5 } })

  const handle = 'fennel'
  const signup = { handle, ...profile, tier: 'free' }
  await send('signupPartner', { body: signup, oath: newestOath(oaths, 'partner') }, newcomer)
  await send('getPartner', { params: { handle } })
  const attestation = { url: 'https://fennel.example/attest' }
  await send('updateAttestationEndpoint', { params: { handle }, body: attestation }, newcomer)
  await send('listPartnerOaths', { params: { handle } })
  const timestamp = isoTime(caller.clock.now())
  const { wallet } = heir
  const move = { timestamp, handle, oldWallet: newcomer.wallet, wallet }
  const signature = await heir.signMessage(messages.partnerWallet(caller.serviceName, move))
  const moved = { params: { handle }, body: { wallet, timestamp, signature } }
  await send('changePartnerWallet', moved, newcomer)
  await send('updateMyPartner', { body: { bio_short: 'Proofreaders of reports.' } }, poster)
  await send('getMyPartner', {}, poster)
  await send('getArbitrage')
  await send('changeSubscription', { body: { tier: 'pro' } }, poster)
  await raiseTier()
  await send('getArbitrage', {}, poster)
  await send('getAlertFeed', { query: { limit: '1' } }, poster)
  const scored = listed('getLeaderboard', 'leaderboard', 'wallet')
  await send('getReputation', { params: { wallet: scored }, query: { limit: '1' } }, poster)
  const application = { rail, worker_wallet: newcomer.wallet, message: 'I proofread reports.' }
  await send('applyToRail', { body: application }, poster)

  const hook = { url: 'https://hooks.example/rails', rails: [rail], severity: 'warning' }
  const subscribed = await send('subscribeAlerts', { body: hook }, poster)
  const { subscriptions } = await send('listAlertSubscriptions', {}, poster)
  const oldest = { params: { id: String(rows.parse(subscriptions).at(-1)?.['id']) } }
  const newest = { params: { id: String(subscribed['id']) } }
  await send('getAlertSubscription', newest, poster)
  await send('listAlertDeliveries', newest, poster)
  await send('enableAlerts', oldest, poster)
  await send('rotateAlertSecret', newest, poster)
  await send('testAlerts', newest, poster)
  await send('unsubscribeAlerts', newest, poster)

  const job = {
    title: 'Proofread a report',
    description: 'Forty pages on tides.',
    skills: [skill],
    budget_usdc: 40,
    deadline: isoTime(nowMs + 7 * dayMs),
  }
  const offer = { price_usdc: 40, eta_hours: 24, proposal: 'I have proofread two such reports.' }
  const post = async () => {
    const { id } = await send('postJob', { body: job }, poster)
    return { params: { id: String(id) } }
  }
  const open = await post()
  const { id: bid } = await send('bidOnJob', { ...open, body: offer }, bidder)
  await send('getJob', open)
  await send('listBids', open, poster)
  await send('awardJob', { ...open, body: { bid_id: String(bid) } }, poster)
  const work = { uri: 'https://work.example/report', content_sha256: 'ab'.repeat(32) }
  await send('deliverJob', { ...open, body: work }, bidder)
  await send('getDelivery', open, poster)
  await send('disputeJob', { ...open, body: { reason: 'Two pages are missing.' } }, poster)
  await send('acceptJob', open, poster)
  await send('cancelJob', await post(), poster)
  await send('changeSubscription', { body: { tier: 'free' } }, poster)
  await send('cancelSubscription', {}, poster)
  return calls
}
