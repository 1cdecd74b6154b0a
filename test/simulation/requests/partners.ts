/** Signups, profiles, attestation endpoints and tier changes of partners. */
import { messages, sha256Hex } from '../../../src/auth/messages.ts'
import { testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Intent } from '../model/intent.ts'
import { iso, partnerOf } from '../model/reading.ts'
import { borne } from './bearer.ts'
import { oathText, swear } from './oaths.ts'
import { sentOf, signingTime } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'
import { handles, names, someone, wallets } from './wallets.ts'

export async function signup(at: Circumstances): Promise<Sent> {
  const { chance, reference, state, isWilling } = at
  const free = [0, 1, 2].filter((one) => partnerOf(state, wallets[one]?.id ?? '') === null)
  const drawn = !isWilling && chance.happens(0.05) ? 3 : chance.below(3)
  const index = isWilling ? (free[chance.below(free.length)] ?? drawn) : drawn
  const wallet = wallets[index] ?? wallets[0]
  const isOwn = isWilling || chance.happens(0.85)
  const handle = isOwn ? (handles[index] ?? handles[0]) : chance.pick(handles)
  const [name, looks] = chance.pick(names)
  const tier = isWilling || chance.happens(0.9) ? 'free' : 'starter'
  const timestampMs = signingTime(at)
  const by = { wallet, nowMs: timestampMs }
  const oath_signature = await swear(reference, 'partner', by)
  const sworn = sha256Hex(oathText(reference, 'partner', by))
  return await borne(at, {
    body: { handle, display_name: name, tier, timestamp: iso(timestampMs), oath_signature },
    intent: { kind: 'signup', handle, name, looks, tier },
    wallet,
    timestampMs,
    proofs: [{ wallet: wallet.id, sha: sworn, timestampMs }],
  })
}

export async function attest(at: Circumstances): Promise<Sent> {
  const { chance, state } = at
  const handle = chance.pick(handles)
  const owner = wallets.find(({ id }) => id === state.partners.get(handle)?.wallet)
  const wallet = chance.happens(0.8) && owner !== undefined ? owner : someone(chance)
  const timestampMs = signingTime(at)
  const timestamp = iso(timestampMs)
  const url = `https://partner.example/attest/${chance.below(4)}`
  const text = messages.attestationEndpoint(testService, { timestamp, handle, url })
  const signature = await wallet.sign(text)
  return sentOf(at, {
    params: { handle },
    body: { url, wallet: wallet.address, timestamp, signature },
    intent: { kind: 'attest', handle, url },
    wallet,
    proofs: [{ wallet: wallet.id, sha: sha256Hex(text), timestampMs }],
  })
}

export async function profile(at: Circumstances): Promise<Sent> {
  const { chance } = at
  const named = chance.happens(0.5) ? chance.pick(names) : null
  const bindsBody = chance.happens(0.3) ? chance.happens(0.5) : null
  const isSilent = named === null && bindsBody === null
  const website =
    isSilent || chance.happens(0.4) ? `https://partner.example/${chance.below(3)}` : null
  const intent: Intent = {
    kind: 'profile',
    named: named === null ? null : { name: named[0], looks: named[1] },
    website,
    bindsBody,
  }
  const body = {
    ...(named === null ? {} : { display_name: named[0] }),
    ...(website === null ? {} : { website }),
    ...(bindsBody === null ? {} : { require_body_signature: bindsBody }),
  }
  const wallet = partnerIn(at)
  const wantsBody = bindsBody !== null
  return await borne(at, { body, intent, wallet, timestampMs: signingTime(at), wantsBody })
}

export async function toFree(at: Circumstances): Promise<Sent> {
  const [body, intent] = [{ tier: 'free' }, { kind: 'free' } as const]
  return await borne(at, { body, intent, wallet: partnerIn(at), timestampMs: signingTime(at) })
}

export async function leave(at: Circumstances): Promise<Sent> {
  const intent = { kind: 'leave' } as const
  const wallet = partnerIn(at)
  return await borne(at, { body: null, intent, wallet, timestampMs: signingTime(at) })
}

export function partnerIn({ chance, state }: Circumstances): TestWallet {
  const partners = wallets.filter(({ id }) => partnerOf(state, id) !== null)
  const drawn = partners[chance.below(partners.length)]
  return drawn !== undefined && chance.happens(0.9) ? drawn : someone(chance)
}
