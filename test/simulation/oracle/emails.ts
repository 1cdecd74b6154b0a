/** Delivers e-mails, and checks the codes that the ledger stores. */
import type { Mail } from '../../../src/mail/mail.ts'
import type { Process } from '../machine.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import type { Run } from '../run.ts'
import { iso, minuteMs } from './facts.ts'
import type { Flight } from './flight.ts'
import { codeOf } from './rules.ts'
import type { Change, Snapshot } from './snapshot.ts'

type WriteFlight = Flight & { readonly request: SimulatedRequest }

/** The facts with which a change of the rows must agree. */
interface Observation {
  readonly flights: readonly WriteFlight[]
  /** Writes that took effect in the same change. */
  readonly taken: readonly WriteFlight[]
}

const codeLifeMs = 15 * minuteMs

export type Emails = ReturnType<typeof createEmails>

export function createEmails({ machine, chanceFor, installation, fail }: Run) {
  const chance = chanceFor('emails')
  const { keyedHash } = installation
  const received = new Map<string, readonly string[]>()
  let isCalm = false

  function hasReceived(emailHash: string, codeHash: string): boolean {
    return [...received].some(
      ([address, codes]) =>
        keyedHash('email', address.toLowerCase()) === emailHash &&
        codes.some((code) => keyedHash('email-code', `${emailHash}\n${code}`) === codeHash),
    )
  }

  return {
    mailOf:
      (process: Process): Mail =>
      async ({ to, text }) => {
        const outcome = isCalm
          ? 'delivered'
          : chance.weighted({ delivered: 20, lost: 1.5, 'delivered unconfirmed': 1 })
        await machine.answer(process, `an e-mail is ${outcome}`, () => {
          const [, code = null] = /^Your code is (\d{6})\./.exec(text) ?? []
          if (outcome !== 'lost' && code !== null) {
            received.set(to, [...(received.get(to) ?? []), code])
          }
          if (outcome === 'delivered') return
          machine.trouble()
          throw new Error('the mail server has gone')
        })
      },
    codesTo: (address: string): readonly string[] => received.get(address) ?? [],
    observe: (changes: readonly Change[], { flights, taken }: Observation): void => {
      const isOpen = flights.some(({ request: { kind } }) => kind === 'ask' || kind === 'code')
      for (const { table, before, after } of changes) {
        if (table !== 'email_sends' && table !== 'email_codes') continue
        if (!isOpen) fail(`${table} changes without a request`)
        const hash = after?.['code_hash']
        if (typeof hash !== 'string' || hash === before?.['code_hash']) continue
        const emailHash = String(after?.['email_hash'])
        const isRight = taken.some(
          ({ request: { kind, derived }, nowMs }) =>
            kind === 'ask' &&
            derived['email_hash'] === emailHash &&
            after?.['expires_at'] === iso(nowMs + codeLifeMs),
        )
        if (!isRight || after?.['tries'] !== 0 || !hasReceived(emailHash, hash)) {
          fail(`a code is stored that nobody received: ${JSON.stringify(after)}`)
        }
      }
    },
    /** A refused code must be counted as a wrong one, unless it was invalid anyway. */
    checkCounted: ({ name, request, nowMs }: WriteFlight, window: readonly Snapshot[]): void => {
      const codes = window.map((db) => codeOf(db, request, nowMs))
      const isSame = codes.every((code) => code?.code_hash === codes[0]?.code_hash)
      const isCounted = (codes.at(-1)?.tries ?? 0) > (codes[0]?.tries ?? 0)
      if (codes[0] !== undefined && isSame && !isCounted)
        fail(`${name}: a wrong code is not counted`)
    },
    calm: (): void => {
      isCalm = true
    },
  }
}
