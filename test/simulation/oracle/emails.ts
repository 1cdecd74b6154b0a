/** Delivers e-mails, and checks their counts and the codes that the ledger stores. */
import type { Mail } from '../../../src/mail/mail.ts'
import type { Process } from '../machine.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import type { Run } from '../run.ts'
import { hourMs, iso, minuteMs } from './facts.ts'
import type { Flight } from './flight.ts'
import { codeOf, hasTooManyMails, isTaken } from './rules.ts'
import type { Change, Fields, Snapshot } from './snapshot.ts'

type WriteFlight = Flight & { readonly request: SimulatedRequest }

/** The facts with which a change of the rows must agree. */
interface Observation {
  readonly before: Snapshot
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
  /** Requests whose e-mail, or whose wrong code, has been counted. */
  const mailed = new Set<Flight>()
  const tried = new Set<Flight>()
  let isCalm = false

  function hasReceived(emailHash: string, codeHash: unknown): boolean {
    return [...received].some(
      ([address, codes]) =>
        keyedHash('email', address.toLowerCase()) === emailHash &&
        codes.some((code) => keyedHash('email-code', `${emailHash}\n${code}`) === codeHash),
    )
  }

  function observeSend({ before: old, after }: Change, { before, flights }: Observation): void {
    if (after === null) {
      const isOld = flights.some(({ nowMs }) => String(old?.['sent_at']) <= iso(nowMs - hourMs))
      if (!isOld) fail('a counted e-mail is forgotten too soon')
      return
    }
    const emailHash = String(after['email_hash'])
    const flight = flights.find(
      (one) =>
        one.request.kind === 'ask' &&
        !mailed.has(one) &&
        one.request.derived['email_hash'] === emailHash &&
        iso(one.nowMs) === after['sent_at'] &&
        !isTaken(before, one.request.derived['wallet'] ?? null),
    )
    if (flight === undefined) {
      fail('an e-mail is counted that nobody may request')
      return
    }
    mailed.add(flight)
    if (hasTooManyMails(before, emailHash, flight.nowMs)) fail('too many e-mails are sent')
  }

  function observeCode({ before: old, after }: Change, { flights, taken }: Observation): void {
    const isOf = (row: Fields | null) => (flight: WriteFlight) =>
      flight.request.derived['email_hash'] === row?.['email_hash']
    if (after === null) {
      const isUsed = taken.some((one) => one.request.kind === 'code' && isOf(old)(one))
      const isOver = flights.some(
        ({ request, nowMs }) => request.kind === 'ask' && String(old?.['expires_at']) <= iso(nowMs),
      )
      if (!isUsed && !isOver) fail('a code was deleted that nobody has used')
      return
    }
    if (old !== null && old['code_hash'] === after['code_hash']) {
      const guess = flights.find(
        (one) =>
          one.request.kind === 'code' &&
          isOf(after)(one) &&
          one.request.derived['code_hash'] !== after['code_hash'] &&
          !tried.has(one),
      )
      const isCounted = Number(after['tries']) === Number(old['tries']) + 1
      if (guess === undefined || !isCounted) fail('a wrong code is counted that nobody sent')
      else tried.add(guess)
      return
    }
    const request = taken.find((one) => one.request.kind === 'ask' && isOf(after)(one))
    const isRight =
      request !== undefined &&
      hasReceived(String(after['email_hash']), after['code_hash']) &&
      after['tries'] === 0 &&
      after['display_name'] === request.request.body['display_name'] &&
      after['wallet'] === (request.request.derived['wallet'] ?? null) &&
      after['expires_at'] === iso(request.nowMs + codeLifeMs)
    if (!isRight) fail(`a code is stored that nobody received: ${JSON.stringify(after)}`)
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
    /** Codes received by an address, oldest first. */
    codesTo: (address: string): readonly string[] => received.get(address) ?? [],
    isMailed: (flight: Flight): boolean => mailed.has(flight),
    observe: (changes: readonly Change[], observation: Observation): void => {
      for (const change of changes) {
        if (change.table === 'email_sends') observeSend(change, observation)
        if (change.table === 'email_codes') observeCode(change, observation)
      }
      for (const flight of observation.taken) {
        const isUnsent = flight.request.kind === 'ask' && !mailed.has(flight)
        if (isUnsent) fail(`${flight.name} is answered without an e-mail`)
      }
    },
    /** A refused code must be counted as a wrong one, unless it was invalid anyway. */
    checkCounted: (flight: WriteFlight, window: readonly Snapshot[]): void => {
      const { name, request, nowMs } = flight
      const isInvalid = window.some((db) => codeOf(db, request, nowMs) === undefined)
      if (!tried.has(flight) && !isInvalid) fail(`${name}: a wrong code is not counted`)
    },
    calm: (): void => {
      isCalm = true
    },
  }
}
