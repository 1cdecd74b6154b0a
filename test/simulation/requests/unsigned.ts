/** Unsigned requests: feedback, proposals of skills, and claims by e-mail. */
import { createRequest } from './request.ts'
import type { Circumstances, SimulatedRequest } from './request.ts'
import { drawWallet, names } from './wallets.ts'

const mailboxes = ['ann@people.example', 'Ben@people.example', 'eve@people.example'] as const

/** Each text is sent under its own key, since the ledger stores no answers of texts without a key. */
export function feedback(at: Circumstances): SimulatedRequest {
  const { number } = at
  return createRequest(at, { body: { message: `Text ${number}` }, key: `text-${number}` })
}

export function propose(at: Circumstances): SimulatedRequest {
  const { number } = at
  const body = {
    name: `Unheard of ${number}`,
    category: 'research-analysis',
    surface: ['x402'],
    description: `Something new, ${number}`,
  }
  const derived = { slug: `unheard-of-${number}` }
  return createRequest(at, { body, derived, key: `text-${number}` })
}

export function ask(at: Circumstances): SimulatedRequest {
  const { chance, keyedHash } = at
  const email = chance.pick(mailboxes)
  const wallet = chance.happens(0.6) ? drawWallet(chance) : null
  return createRequest(at, {
    body: {
      email,
      display_name: chance.pick(names),
      ...(wallet === null ? {} : { wallet: wallet.address }),
    },
    derived: {
      email_hash: keyedHash('email', email.toLowerCase()),
      ...(wallet === null ? {} : { wallet: wallet.id }),
    },
    key: `mail-${at.number}`,
  })
}

/** Redeems a received code, at times an older or a wrong one. */
export function code(at: Circumstances): SimulatedRequest | null {
  const { chance, db, isWilling, keyedHash, codesTo } = at
  const hashOf = (address: string) => keyedHash('email', address.toLowerCase())
  const boxes = mailboxes.filter((one) => codesTo(one).length > 0)
  const live = boxes.filter((one) => db.email_codes.some((row) => row.email_hash === hashOf(one)))
  const from = live.length > 0 && (isWilling || chance.happens(0.8)) ? live : boxes
  const address = from[chance.below(from.length)]
  if (address === undefined) return null
  const codes = codesTo(address)
  const which = isWilling ? 'last' : chance.weighted({ last: 5, any: 2, none: 4 })
  const received = which === 'last' ? codes.at(-1) : codes[chance.below(codes.length)]
  const guess = which === 'none' ? String(100_000 + chance.below(900_000)) : (received ?? '000000')
  // People spell their address as they like.
  const email = chance.happens(0.2) ? address.toLowerCase() : address
  const emailHash = hashOf(address)
  const codeHash = keyedHash('email-code', `${emailHash}\n${guess}`)
  return createRequest(at, {
    body: { email, code: guess },
    derived: { email_hash: emailHash, code_hash: codeHash },
    key: `mail-${at.number}`,
  })
}
