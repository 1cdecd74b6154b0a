/** Oracle of claims by e-mail: delivery of codes, and the rows that the ledger keeps. */
import { z } from 'zod'

import type { Mail } from '../../src/mail/mail.ts'
import type { Machine, Process } from './machine.ts'
import { hasRoom, isFree, isLive, isOld } from './model/emails.ts'
import type { RequestFacts } from './model/intent.ts'
import { iso } from './model/reading.ts'
import type { State } from './model/state.ts'
import type { Chance } from './random.ts'

const text = z.string()
const time = text.transform((stamp) => Date.parse(stamp))
export const emailRows = z.object({
  sends: z.array(z.tuple([text, time])),
  codes: z.array(z.tuple([text, text, text, text.nullable(), z.number(), time])),
})

interface Asking {
  readonly name: string
  readonly sent: Pick<RequestFacts, 'intent'> | null
  readonly nowMs: number
}

export interface Emails {
  readonly carry: (process: Process) => Mail
  /** Codes received by an address, oldest first. */
  readonly codesTo: (address: string) => readonly string[]
  readonly hashes: {
    readonly email: (address: string) => string
    readonly code: (email: string, code: string) => string
  }
  /** Accepts a code that is used in the commit that stores it. */
  readonly suppose: (state: State, used: { readonly email: string; readonly hash: string }) => void
  /** Applies the changes. Returns true if there were any. */
  readonly observe: (
    found: z.infer<typeof emailRows>,
    states: { readonly state: State; readonly before: State },
    flights: readonly Asking[],
  ) => boolean
  /** Checks that a refused code was invalid in one of the states, or counted as a wrong one. */
  readonly refused: (flight: Asking, versions: readonly State[]) => void
  /** Delivers every e-mail from now on. */
  readonly calm: () => void
}

export function createEmails(given: {
  readonly machine: Pick<Machine, 'answer' | 'trouble'>
  readonly chance: Chance
  readonly keyedHash: (purpose: string, text: string) => string
  readonly fail: (what: string) => void
}): Emails {
  const { machine, chance, keyedHash, fail } = given
  const box = new Map<string, readonly string[]>()
  /** Requests whose e-mail or wrong code has been counted. */
  const counted = new Set<Asking>()
  const tried = new Set<Asking>()
  let isCalm = false
  const hashes: Emails['hashes'] = {
    email: (address) => keyedHash('email', address.toLowerCase()),
    code: (email, code) => keyedHash('email-code', `${email}\n${code}`),
  }

  function received(email: string): readonly string[] {
    return [...box].flatMap(([address, codes]) =>
      hashes.email(address) === email ? codes.map((code) => hashes.code(email, code)) : [],
    )
  }

  function noteSends(
    rows: readonly (readonly [string, number])[],
    { state, before }: { readonly state: State; readonly before: State },
    flights: readonly Asking[],
  ): boolean {
    const left = rows.map(([email, atMs]) => `${email} ${atMs}`)
    const kept = state.sends.filter(({ isKept }) => isKept)
    const gone = kept.filter(({ email, atMs }) => {
      const at = left.indexOf(`${email} ${atMs}`)
      if (at !== -1) left.splice(at, 1)
      return at === -1
    })
    for (const one of left) {
      const [email = '', atMs = ''] = one.split(' ')
      const asking = flights.filter(
        (one) =>
          !counted.has(one) &&
          one.sent?.intent.kind === 'ask' &&
          one.sent.intent.email === email &&
          one.nowMs === Number(atMs),
      )
      // The spot may have been taken in the same commit, after that.
      const flight = asking.find(({ sent }) => {
        const to = sent?.intent.kind === 'ask' ? (sent.intent.to?.id ?? null) : null
        return isFree(state, to) || isFree(before, to)
      })
      if (flight === undefined) fail('a letter is counted that nobody may ask for')
      else counted.add(flight)
      if (!hasRoom(state, email, Number(atMs))) fail('one letter too many goes out')
      state.sends.push({ email, atMs: Number(atMs), isKept: true, by: flight?.name ?? '' })
    }
    for (const one of gone) {
      if (!flights.some(({ nowMs }) => isOld(one.atMs, nowMs)))
        fail('a letter is forgotten too soon')
      state.sends[state.sends.indexOf(one)] = { ...one, isKept: false }
    }
    return left.length + gone.length > 0
  }

  function noteCodes(
    rows: z.infer<typeof emailRows>['codes'],
    state: State,
    flights: readonly Asking[],
  ): boolean {
    let hasChanged = false
    for (const [email, hash, name, wallet, tries, expiresMs] of rows) {
      const known = state.codes.get(email)
      const isKnown =
        known?.name === name && known.expiresMs === expiresMs && (known.to?.id ?? null) === wallet
      if (known === undefined || !isKnown) {
        fail('a code is kept that nobody asked for')
        continue
      }
      if (known.hash === hash && known.tries === tries) continue
      hasChanged = true
      if (known.hash === null && !received(email).includes(hash))
        fail('a code holds that was never sent')
      else if (known.hash !== null && known.hash !== hash) fail('a code becomes another')
      const guesses = flights.filter(
        (flight) =>
          flight.sent?.intent.kind === 'code' &&
          flight.sent.intent.email === email &&
          flight.sent.intent.hash !== hash &&
          !tried.has(flight),
      )
      const more = tries - known.tries
      if (more < 0 || more > guesses.length) fail(`${more} wrong codes are counted`)
      for (const guess of guesses) if (more > 0) tried.add(guess)
      state.codes.set(email, { ...known, hash, tries })
    }
    for (const [email, { expiresMs }] of state.codes) {
      if (rows.some(([one]) => one === email)) continue
      hasChanged = true
      const isDropped = flights.some(
        ({ sent, nowMs }) => sent?.intent.kind === 'ask' && expiresMs <= nowMs,
      )
      if (!isDropped) fail('a code is gone, and nobody has used it')
      state.codes.delete(email)
    }
    return hasChanged
  }

  return {
    carry:
      (process) =>
      async ({ to, text: words }) => {
        const outcome = isCalm
          ? 'arrives'
          : chance.weighted({ arrives: 20, lost: 1.5, 'arrives unsaid': 1 })
        await machine.answer(process, `a letter ${outcome}`, () => {
          const [, code = null] = /^Your code is (\d{6})\./.exec(words) ?? []
          if (outcome !== 'lost' && code !== null) box.set(to, [...(box.get(to) ?? []), code])
          if (outcome === 'arrives') return
          machine.trouble()
          throw new Error('the mail server has gone')
        })
      },
    codesTo: (address) => box.get(address) ?? [],
    hashes,
    suppose: (state, { email, hash }) => {
      const known = state.codes.get(email)
      if (known?.hash !== null || !received(email).includes(hash)) return
      state.codes.set(email, { ...known, hash })
    },
    observe: ({ sends, codes }, states, flights) => {
      const hasSent = noteSends(sends, states, flights)
      return noteCodes(codes, states.state, flights) || hasSent
    },
    refused: (flight, versions) => {
      const intent = flight.sent?.intent
      if (intent?.kind !== 'code' || tried.has(flight)) return
      const isCounted = versions.some((seen) => !isLive(seen.codes.get(intent.email), flight.nowMs))
      if (!isCounted) fail(`${flight.name}: a wrong code of ${iso(flight.nowMs)} is not counted`)
    },
    calm: () => {
      isCalm = true
    },
  }
}
