/** Registrations, receipts and claims, signed by workers. */
import { bodySha256, fillOath, messages, receiptId } from '../../../src/auth/messages.ts'
import { issued, receiptFacts, workerSigned } from '../../support/receipts.ts'
import { signedBody, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { iso } from '../oracle/facts.ts'
import { createRequest, drawForger, proofOf, signingTime } from './request.ts'
import type { Circumstances, RequestParts, SimulatedRequest } from './request.ts'
import { drawWallet, names, otherKey, ownKey, platformKey, wallets } from './wallets.ts'

export function oathText(
  { reference }: Pick<Circumstances, 'reference'>,
  kind: 'claim' | 'partner',
  { wallet, timestampMs }: { readonly wallet: TestWallet; readonly timestampMs: number },
): string {
  const text = reference.oaths.get(kind)?.text ?? ''
  return fillOath(text, { wallet: wallet.address, timestamp: iso(timestampMs) })
}

export async function register(at: Circumstances): Promise<SimulatedRequest> {
  const { chance, reference } = at
  const [known = ''] = reference.skills.keys()
  const key = chance.weighted({ none: 6, own: 2, other: 1 })
  return await statement(at, 'register', drawWallet(chance), () => ({
    body: {
      skills: chance.happens(0.15) ? [known, 'my-own-skill'] : [known],
      ...(chance.happens(0.8) ? { display_name: chance.pick(names) } : {}),
      ...(key === 'none' ? {} : { receipt_key: (key === 'own' ? ownKey : otherKey).base64 }),
    },
  }))
}

export async function claim(at: Circumstances): Promise<SimulatedRequest> {
  const { chance } = at
  const wallet = drawWallet(chance)
  return await statement(at, 'claim', wallet, async (timestampMs) => ({
    body: {
      display_name: chance.pick(names),
      oath_signature: await wallet.sign(oathText(at, 'claim', { wallet, timestampMs })),
    },
  }))
}

/** From a small pool, so that contents repeat with other signatures. */
export async function receipt(at: Circumstances): Promise<SimulatedRequest> {
  const { chance } = at
  const sender = drawWallet(chance)
  const isIssued = chance.happens(0.75)
  // Half of them share one pair, whose order decides their weight.
  const isOfPair = isIssued && chance.happens(0.5)
  const isForOther = isIssued || chance.happens(0.1)
  const worker = isOfPair ? wallets[0] : isForOther ? drawWallet(chance) : sender
  const payer = isOfPair ? wallets[1] : chance.happens(0.85) ? drawWallet(chance) : null
  const facts = receiptFacts(worker, {
    amount_usdc: chance.pick(['0.000001', '1', '2.5', '33.333333'] as const),
    occurred_at: `2026-11-0${1 + chance.below(9)}T12:00:00.000Z`,
    ...(payer === null ? {} : { from_wallet: payer.address }),
  })
  const made = isIssued ? issued(facts, platformKey) : workerSigned(facts, ownKey)
  const isTampered = chance.happens(0.06)
  const body = isTampered ? { ...made, summary: 'Added afterwards.' } : made
  return await statement(at, 'receipt', sender, () => ({
    body,
    derived: {
      id: receiptId(body),
      to_wallet: worker.id,
      ...(payer === null ? {} : { from_wallet: payer.id }),
      ...(isIssued ? {} : { public_key: ownKey.base64 }),
    },
    flaws: [
      ...(isTampered ? ['signature_invalid'] : []),
      ...(!isIssued && worker.id !== sender.id ? ['forbidden'] : []),
    ],
  }))
}

async function statement(
  at: Circumstances,
  kind: 'register' | 'receipt' | 'claim',
  wallet: TestWallet,
  draw: (timestampMs: number) => RequestParts | Promise<RequestParts>,
): Promise<SimulatedRequest> {
  const timestampMs = signingTime(at)
  const { body, derived = {}, flaws = [] } = await draw(timestampMs)
  const signed = await signedBody(wallet, kind, { ...body }, { nowMs: timestampMs })
  const { timestamp } = signed
  const sha256 = bodySha256(signed)
  const facts = { wallet: wallet.address, timestamp, bodySha256: sha256 }
  const message = messages[kind](testService, facts)
  const forger = drawForger(at, wallet)
  const forged = forger === undefined ? {} : { signature: await forger.sign(message) }
  return createRequest(at, {
    wallet,
    derived,
    body: { ...signed, ...forged },
    proofs: [proofOf(wallet, message, timestampMs)],
    flaws: [...flaws, ...(forger === undefined ? [] : ['signature_invalid'])],
  })
}
