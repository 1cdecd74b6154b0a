/** Requests of posters and bidders. */
import { bodySha256, messages } from '../../../src/auth/messages.ts'
import { testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { awardeeOf, hourMs, isActive, iso } from '../oracle/facts.ts'
import type { RowOf } from '../oracle/snapshot.ts'
import type { Kind } from './operations.ts'
import { createPartnerRequest, proofOf, signingTime } from './request.ts'
import type { Circumstances, RequestParts, SimulatedRequest } from './request.ts'
import { drawWallet, wallets } from './wallets.ts'

/** Statuses in which a request continues a job. */
const continued: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  bid: ['open'],
  award: ['open'],
  deliver: ['awarded'],
  accept: ['delivered', 'disputed'],
  dispute: ['delivered'],
}

export async function post(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, number, nowMs, isWilling } = at
  const hours = isWilling ? 30 : chance.pick([2, 30, 24 * 20] as const)
  return await createPartnerRequest(at, {
    wallet: drawParty(at, null),
    body: {
      title: `Job ${number}`,
      description: 'Work.',
      skills: ['my-own-skill'],
      budget_usdc: '40.5',
      deadline: iso(nowMs + hours * hourMs),
    },
  })
}

export async function transition(at: Circumstances): Promise<SimulatedRequest | null> {
  const job = drawJob(at)
  if (job === null) return null
  const wallet = drawParty(at, job)
  const timestampMs = signingTime(at)
  const parts = await partsOf(at, { job, wallet, timestampMs })
  return await createPartnerRequest(at, { ...parts, params: { id: job.id }, wallet, timestampMs })
}

/** The newest job if willing: begun jobs are finished. */
function drawJob({ db, kind, chance, isWilling }: Circumstances): RowOf<'jobs'> | null {
  const fitting = db.jobs.filter(
    (job) =>
      continued[kind]?.includes(job.status) === true && (kind !== 'award' || job.bids_count > 0),
  )
  if (isWilling) return fitting.at(-1) ?? null
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : db.jobs
  return from[chance.below(from.length)] ?? null
}

function drawParty(at: Circumstances, job: RowOf<'jobs'> | null): TestWallet {
  const { db, kind, chance, isWilling, nowMs } = at
  if (isWilling && (kind === 'post' || kind === 'bid')) {
    const fitting = wallets.filter(({ id }) => id !== job?.poster && isActive(db, id, nowMs))
    return fitting[chance.below(fitting.length)] ?? drawWallet(chance)
  }
  const awardee = job === null ? undefined : awardeeOf(db, job)
  const party = kind === 'deliver' ? awardee : kind === 'bid' ? undefined : job?.poster
  const found = wallets.find(({ id }) => id === party)
  return found !== undefined && (isWilling || chance.happens(0.85)) ? found : drawWallet(chance)
}

interface Move {
  readonly job: RowOf<'jobs'>
  readonly wallet: TestWallet
  readonly timestampMs: number
}

async function partsOf(at: Circumstances, move: Move): Promise<RequestParts> {
  const { db, chance, number, kind } = at
  if (kind === 'bid') {
    const price = (1 + chance.below(40)) / 2
    return { body: { price_usdc: price, eta_hours: 1, proposal: `Bid ${number}.` } }
  }
  if (kind === 'award') {
    const bids = db.job_bids.filter((bid) => bid.job_id === move.job.id)
    const id = bids[chance.below(bids.length)]?.id ?? `bid_${'0'.repeat(24)}`
    return { body: { bid_id: id } }
  }
  if (kind === 'deliver') return await deliveryOf(move)
  return { body: kind === 'dispute' ? { reason: `Late ${number}.` } : {} }
}

/** A delivery has its own signature beside the bearer. */
async function deliveryOf({ job, wallet, timestampMs }: Move): Promise<RequestParts> {
  const timestamp = iso(timestampMs)
  const facts = { uri: 'https://files.example.com/a', content_sha256: 'ab'.repeat(32) }
  const unsigned = { ...facts, wallet: wallet.address, timestamp, signature: '' }
  const message = messages.deliver(testService, {
    wallet: wallet.address,
    timestamp,
    bodySha256: bodySha256(unsigned),
    jobId: job.id,
  })
  return {
    body: { ...unsigned, signature: await wallet.sign(message) },
    proofs: [proofOf(wallet, message, timestampMs)],
  }
}
