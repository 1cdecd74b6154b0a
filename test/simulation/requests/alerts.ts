/** Webhooks and applications of partners. */
import type { Intent } from '../model/intent.ts'
import { borne } from './bearer.ts'
import { partnerIn } from './partners.ts'
import { signingTime } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'
import { someone, wallets } from './wallets.ts'

export async function subscribe(at: Circumstances): Promise<Sent> {
  const { chance, number } = at
  const url = `https://hooks.partner.example/${number}`
  const rails = chance.happens(0.5) ? (['x402'] as const) : null
  return await borne(at, {
    body: { url, ...(rails === null ? {} : { rails }) },
    intent: { kind: 'subscribe', url, rails },
    wallet: partnerIn(at),
    timestampMs: signingTime(at),
  })
}

/** For an existing webhook, mostly by its owner. */
export async function ofWebhook(kind: 'unsubscribe' | 'try', at: Circumstances): Promise<Sent> {
  const { chance, state } = at
  const all = [...state.subscriptions]
  const [id, found] = all[chance.below(all.length)] ?? [`sub_${'0'.repeat(24)}`]
  const owner = wallets.find((one) => one.id === found?.wallet)
  const wallet = owner !== undefined && chance.happens(0.9) ? owner : partnerIn(at)
  const intent: Intent = { kind, id }
  const body = kind === 'try' ? {} : null
  return await borne(at, { params: { id }, body, intent, wallet, timestampMs: signingTime(at) })
}

export async function apply(at: Circumstances): Promise<Sent> {
  const { chance, number } = at
  const worker = someone(chance).address
  const rail = chance.pick(['x402', 'olas', 'unheard-of'] as const)
  return await borne(at, {
    body: { rail, worker_wallet: worker, message: `Application ${number}.` },
    intent: { kind: 'apply', rail, worker },
    wallet: partnerIn(at),
    timestampMs: signingTime(at),
    // Rails are looked up before the partner is.
    flaws: rail === 'unheard-of' ? ['refused'] : [],
  })
}
