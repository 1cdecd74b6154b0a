/** Claims by e-mail: requested and redeemed codes. */
import type { Intent } from '../model/intent.ts'
import { sentOf } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'
import { names, someone } from './wallets.ts'

const mailboxes = ['ann@people.example', 'Ben@people.example', 'eve@people.example'] as const
/** Unsigned; the answer is stored under the key. */
const unsigned = ({ number }: Circumstances) => ({
  wallet: null,
  proofs: [],
  key: `mail-${number}`,
})

export function ask(at: Circumstances): Sent {
  const { chance, emails } = at
  const address = chance.pick(mailboxes)
  const [name, looks] = chance.pick(names)
  const wallet = chance.happens(0.6) ? someone(chance) : null
  const to = wallet === null ? null : { id: wallet.id, display: wallet.address }
  const intent: Intent = { kind: 'ask', email: emails.hashes.email(address), name, looks, to }
  const body = {
    email: address,
    display_name: name,
    ...(wallet === null ? {} : { wallet: wallet.address }),
  }
  return sentOf(at, { body, intent, ...unsigned(at) })
}

export function code(at: Circumstances): Sent | null {
  const { chance, emails, state, isWilling } = at
  const boxes = mailboxes.filter((one) => emails.codesTo(one).length > 0)
  const live = boxes.filter((one) => state.codes.has(emails.hashes.email(one)))
  const from = live.length > 0 && (isWilling || chance.happens(0.8)) ? live : boxes
  const address = from[chance.below(from.length)]
  if (address === undefined) return null
  const codes = emails.codesTo(address)
  const which = isWilling ? 'last' : chance.weighted({ last: 5, any: 2, none: 4 })
  const sent = which === 'last' ? codes.at(-1) : codes[chance.below(codes.length)]
  const guess = which === 'none' ? String(100_000 + chance.below(900_000)) : (sent ?? '000000')
  const email = emails.hashes.email(address)
  const intent: Intent = { kind: 'code', email, hash: emails.hashes.code(email, guess) }
  // People write their address as they like.
  const spelled = chance.happens(0.2) ? address.toLowerCase() : address
  return sentOf(at, { body: { email: spelled, code: guess }, intent, ...unsigned(at) })
}
