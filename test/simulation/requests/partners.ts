/** Requests of partners: signups, profiles, attestation endpoints, tiers, webhooks and applications. */
import { messages } from '../../../src/auth/messages.ts'
import { testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { iso, partnerOf } from '../oracle/facts.ts'
import { createPartnerRequest, createRequest, proofOf, signingTime } from './request.ts'
import type { Circumstances, SimulatedRequest } from './request.ts'
import { oathText } from './statements.ts'
import { drawWallet, handles, names, wallets } from './wallets.ts'

export async function signup(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, db, isWilling } = at
  const free = [0, 1, 2].filter((one) => partnerOf(db, wallets[one]?.id ?? '') === undefined)
  const drawn = !isWilling && chance.happens(0.05) ? 3 : chance.below(3)
  const index = isWilling ? (free[chance.below(free.length)] ?? drawn) : drawn
  const wallet = wallets[index] ?? wallets[0]
  const isOwn = isWilling || chance.happens(0.85)
  const timestampMs = signingTime(at)
  const oath = oathText(at, 'partner', { wallet, timestampMs })
  return await createPartnerRequest(at, {
    wallet,
    timestampMs,
    proofs: [proofOf(wallet, oath, timestampMs)],
    body: {
      handle: isOwn ? (handles[index] ?? handles[0]) : chance.pick(handles),
      display_name: chance.pick(names),
      tier: isWilling || chance.happens(0.9) ? 'free' : 'starter',
      timestamp: iso(timestampMs),
      oath_signature: await wallet.sign(oath),
    },
  })
}

export async function attest(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, db } = at
  const handle = chance.pick(handles)
  const partner = db.partners.find((row) => row.handle === handle)
  const owner = wallets.find(({ id }) => id === partner?.wallet)
  const wallet = chance.happens(0.8) && owner !== undefined ? owner : drawWallet(chance)
  const timestampMs = signingTime(at)
  const timestamp = iso(timestampMs)
  const url = `https://partner.example/attest/${chance.below(4)}`
  const message = messages.attestationEndpoint(testService, { timestamp, handle, url })
  const signature = await wallet.sign(message)
  return createRequest(at, {
    wallet,
    params: { handle },
    body: { url, wallet: wallet.address, timestamp, signature },
    derived: { attestation_url: url, attestation_signed_at: timestamp },
    proofs: [proofOf(wallet, message, timestampMs)],
  })
}

export async function profile(at: Circumstances): Promise<SimulatedRequest> {
  const { chance } = at
  const name = chance.happens(0.5) ? { display_name: chance.pick(names) } : {}
  const binding = chance.happens(0.3) ? { require_body_signature: chance.happens(0.5) } : {}
  const other = { ...name, ...binding }
  const hasWebsite = Object.keys(other).length === 0 || chance.happens(0.6)
  const website = hasWebsite ? { website: `https://partner.example/${chance.below(3)}` } : {}
  return await createPartnerRequest(at, {
    wallet: drawPartner(at),
    body: { ...other, ...website },
  })
}

export async function free(at: Circumstances): Promise<SimulatedRequest> {
  return await createPartnerRequest(at, { wallet: drawPartner(at), body: { tier: 'free' } })
}

export async function leave(at: Circumstances): Promise<SimulatedRequest> {
  return await createPartnerRequest(at, { wallet: drawPartner(at) })
}

export async function subscribe(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, number } = at
  const rails = chance.happens(0.5) ? { rails: ['x402'] } : {}
  const body = { url: `https://hooks.partner.example/${number}`, ...rails }
  return await createPartnerRequest(at, { wallet: drawPartner(at), body })
}

/** Deletes, tests or enables an existing webhook, mostly as its owner. */
export async function useWebhook(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, db, kind } = at
  const found = db.alert_subscriptions[chance.below(db.alert_subscriptions.length)]
  const owner = wallets.find(({ id }) => id === found?.wallet)
  const wallet = owner !== undefined && chance.happens(0.9) ? owner : drawPartner(at)
  const params = { id: found?.id ?? `sub_${'0'.repeat(24)}` }
  return await createPartnerRequest(at, {
    wallet,
    params,
    ...(kind === 'unsubscribe' ? {} : { body: {} }),
  })
}

export async function apply(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, number } = at
  const worker = drawWallet(chance).address
  const rail = chance.pick(['x402', 'olas', 'unheard-of'] as const)
  return await createPartnerRequest(at, {
    wallet: drawPartner(at),
    body: { rail, worker_wallet: worker, message: `Application ${number}.` },
    flaws: rail === 'unheard-of' ? ['refused'] : [],
  })
}

function drawPartner({ chance, db }: Circumstances): TestWallet {
  const partners = wallets.filter(({ id }) => partnerOf(db, id) !== undefined)
  const drawn = partners[chance.below(partners.length)]
  return drawn !== undefined && chance.happens(0.9) ? drawn : drawWallet(chance)
}
