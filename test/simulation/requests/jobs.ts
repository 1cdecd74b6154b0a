/** Requests of posters and bidders. */
import { bodySha256, messages, sha256Hex } from '../../../src/auth/messages.ts'
import { testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Intent, Proof } from '../model/intent.ts'
import type { ExchangeKind } from '../model/jobs.ts'
import { activePartnerOf, iso } from '../model/reading.ts'
import type { Job } from '../model/state.ts'
import { borne } from './bearer.ts'
import { signingTime } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'
import { someone, wallets } from './wallets.ts'

/** States that a move continues. */
const leadsOn: Readonly<Partial<Record<ExchangeKind, readonly string[]>>> = {
  bid: ['open'],
  award: ['open'],
  deliver: ['awarded'],
  accept: ['delivered', 'disputed'],
  dispute: ['delivered'],
}

/** Mostly a valid move, at times any. */
export async function exchange(kind: ExchangeKind, at: Circumstances): Promise<Sent | null> {
  const target = kind === 'post' ? (['', null] as const) : jobFor(kind, at)
  if (target === null) return null
  const [id, job] = target
  const wallet = walletFor(kind, at, job)
  const timestampMs = signingTime(at)
  const made = await madeOf(kind, { ...at, id, job, wallet, timestampMs })
  const params = kind === 'post' ? {} : { id }
  return await borne(at, { ...made, params, wallet, timestampMs })
}

/** The newest job if willing: begun jobs are finished. */
function jobFor(
  kind: ExchangeKind,
  { state, chance, isWilling }: Circumstances,
): readonly [string, Job] | null {
  const jobs = [...state.jobs]
  const fitting = jobs.filter(
    ([, { status, bids }]) =>
      leadsOn[kind]?.includes(status) === true && (kind !== 'award' || bids.size > 0),
  )
  if (isWilling) return fitting.at(-1) ?? null
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : jobs
  return from[chance.below(from.length)] ?? null
}

function walletFor(kind: ExchangeKind, at: Circumstances, job: Job | null): TestWallet {
  const { state, chance, isWilling, nowMs } = at
  if (isWilling && (kind === 'post' || kind === 'bid')) {
    const fit = wallets.filter(
      ({ id }) => id !== job?.poster && activePartnerOf(state, id, nowMs) !== null,
    )
    return fit[chance.below(fit.length)] ?? someone(chance)
  }
  const fit = kind === 'deliver' ? job?.awardee : kind === 'bid' ? undefined : job?.poster
  const named = wallets.find((one) => one.id === fit)
  return named !== undefined && (isWilling || chance.happens(0.85)) ? named : someone(chance)
}

interface Move extends Circumstances {
  readonly id: string
  readonly job: Job | null
  readonly wallet: TestWallet
  readonly timestampMs: number
}

async function madeOf(
  kind: ExchangeKind,
  move: Move,
): Promise<{ readonly body: object; readonly intent: Intent; readonly proofs?: readonly Proof[] }> {
  const { id, job, chance, number, nowMs, isWilling } = move
  switch (kind) {
    case 'post': {
      const hours = isWilling ? 30 : chance.pick([2, 30, 24 * 20] as const)
      const deadlineMs = nowMs + hours * 3_600_000
      const title = `Job ${number}`
      const what = { title, description: 'Work.', skills: ['my-own-skill'] }
      const body = { ...what, budget_usdc: '40.5', deadline: iso(deadlineMs) }
      return { body, intent: { kind, title, deadlineMs } }
    }
    case 'bid': {
      const priceMicro = (1 + chance.below(40)) * 500_000
      const body = { price_usdc: priceMicro / 1e6, eta_hours: 1, proposal: `Bid ${number}.` }
      return { body, intent: { kind, job: id, priceMicro } }
    }
    case 'award': {
      const bids = [...(job?.bids.values() ?? [])]
      const bid = bids[chance.below(bids.length)]?.id ?? `bid_${'0'.repeat(24)}`
      return { body: { bid_id: bid }, intent: { kind, job: id, bid } }
    }
    case 'deliver':
      return { ...(await handedOver(move)), intent: { kind, job: id } }
    case 'dispute':
      return { body: { reason: `Late ${number}.` }, intent: { kind, job: id } }
    case 'accept':
    case 'cancel':
      break
  }
  return { body: {}, intent: { kind, job: id } }
}

/** A delivery has its own signature beside the bearer. */
async function handedOver({ id: jobId, wallet, timestampMs }: Move) {
  const timestamp = iso(timestampMs)
  const said = { uri: 'https://files.example.com/a', content_sha256: 'ab'.repeat(32) }
  const unsealed = { ...said, wallet: wallet.address, timestamp, signature: '' }
  const of = { wallet: wallet.address, timestamp, bodySha256: bodySha256(unsealed), jobId }
  const text = messages.deliver(testService, of)
  const body = { ...unsealed, signature: await wallet.sign(text) }
  return { body, proofs: [{ wallet: wallet.id, sha: sha256Hex(text), timestampMs }] }
}
