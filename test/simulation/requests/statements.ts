/** Registrations, receipts and claims, signed by workers. */
import { bodySha256, messages, receiptId, sha256Hex } from '../../../src/auth/messages.ts'
import { issued, receiptFacts, workerSigned } from '../../support/receipts.ts'
import { signedBody, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Intent } from '../model/intent.ts'
import { swear } from './oaths.ts'
import { sentOf, signingTime } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'
import { names, otherKey, ownKey, platformKey, someone, wallets } from './wallets.ts'

export async function statement(
  kind: 'register' | 'receipt' | 'claim',
  at: Circumstances,
): Promise<Sent> {
  const { chance, reference } = at
  const wallet = someone(chance)
  const nowMs = signingTime(at)
  const { body, intent } = {
    register: () => registration(at),
    receipt: () => receipt(at, wallet),
    claim: () => claim(at),
  }[kind]()
  const oath =
    kind === 'claim' ? { oath_signature: await swear(reference, 'claim', { wallet, nowMs }) } : {}
  const signed = await signedBody(wallet, kind, { ...body, ...oath }, { nowMs })
  const from = {
    wallet: signed.wallet,
    timestamp: signed.timestamp,
    bodySha256: bodySha256(signed),
  }
  const proof = {
    wallet: wallet.id,
    sha: sha256Hex(messages[kind](testService, from)),
    timestampMs: nowMs,
  }
  const isForged = chance.happens(0.06)
  const forger = isForged ? wallets.find(({ id }) => id !== wallet.id) : undefined
  const sealed =
    forger === undefined
      ? signed
      : { ...signed, signature: await forger.sign(messages[kind](testService, from)) }
  return sentOf(at, {
    body: sealed,
    intent,
    wallet,
    proofs: [proof],
    flaws: [...refusalsOf(intent, wallet), ...(isForged ? ['signature_invalid'] : [])],
  })
}

function refusalsOf(intent: Intent, wallet: TestWallet): string[] {
  if (intent.kind !== 'receipt') return []
  return [
    ...(intent.id === 'tampered' ? ['signature_invalid'] : []),
    ...(intent.platform === null && intent.to !== wallet.id ? ['forbidden'] : []),
  ]
}

function registration({ chance, reference }: Circumstances): { body: object; intent: Intent } {
  const name = chance.happens(0.8) ? chance.pick(names) : null
  const isOutside = chance.happens(0.15)
  const [known = ''] = reference.skills.keys()
  const skills = isOutside ? [known, 'my-own-skill'] : [known]
  const key = chance.weighted({ none: 6, own: 2, other: 1 })
  const receiptKey =
    key === 'none' ? null : (key === 'own' ? ownKey : otherKey).publicKey.toString('base64')
  return {
    body: {
      skills,
      ...(name === null ? {} : { display_name: name[0] }),
      ...(receiptKey === null ? {} : { receipt_key: receiptKey }),
    },
    intent: {
      kind: 'register',
      name: name?.[0] ?? null,
      looks: name?.[1] ?? null,
      skills,
      isOutside,
      receiptKey,
    },
  }
}

/** From a small pool, so that contents repeat with other signatures. */
function receipt({ chance }: Circumstances, sender: TestWallet): { body: object; intent: Intent } {
  const isIssued = chance.happens(0.75)
  // Half of them share one pair, whose order decides their weight.
  const isOfPair = isIssued && chance.happens(0.5)
  const worker = isOfPair ? wallets[0] : isIssued || chance.happens(0.1) ? someone(chance) : sender
  const payer = isOfPair ? wallets[1] : chance.happens(0.85) ? someone(chance) : null
  const amount = chance.pick(['0.000001', '1', '2.5', '33.333333'] as const)
  const facts = receiptFacts(worker, {
    amount_usdc: amount,
    occurred_at: `2026-11-0${1 + chance.below(9)}T12:00:00.000Z`,
    ...(payer === null ? {} : { from_wallet: payer.address }),
  })
  const made = isIssued ? issued(facts, platformKey) : workerSigned(facts, ownKey)
  const isTampered = chance.happens(0.06)
  const body = isTampered ? { ...made, summary: 'Added afterwards.' } : made
  return {
    body,
    intent: {
      kind: 'receipt',
      id: isTampered ? 'tampered' : receiptId(body),
      to: worker.id,
      payer: payer?.id ?? null,
      platform: isIssued ? 'example_board' : null,
      publicKey: isIssued ? null : ownKey.base64,
      amountMicro: Math.round(Number(amount) * 1e6),
    },
  }
}

function claim({ chance }: Circumstances): { body: object; intent: Intent } {
  const [name, looks] = chance.pick(names)
  return { body: { display_name: name }, intent: { kind: 'claim', name, looks } }
}
