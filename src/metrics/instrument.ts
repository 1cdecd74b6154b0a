/** Counts what the service asks of others, without a word about whom it asked. */
import type { Fetch } from '../core/deps.ts'
import type { Mail } from '../mail/mail.ts'
import { OutboundError } from '../outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../outbound/pinned-fetch.ts'
import type { Payments, Settler } from '../payments/settler.ts'
import type { Meter } from './meter.ts'

export interface OutboundClients {
  readonly fetch: Fetch
  readonly outbound: PinnedFetch
  readonly mail: Mail
}

export function instrumentOutbound(
  meter: Meter | null,
  { fetch, outbound, mail }: OutboundClients,
): OutboundClients {
  if (meter === null) return { fetch, outbound, mail }
  const count = (kind: 'chain' | 'callback' | 'mail', outcome: string): void => {
    meter.counter('ledger_outbound_total', { kind, outcome }).value += 1
  }
  const recordOutcome = async <T>(
    kind: 'chain' | 'callback' | 'mail',
    work: Promise<T>,
    outcomeOf: (answer: T) => string,
  ): Promise<T> => {
    try {
      const answer = await work
      count(kind, outcomeOf(answer))
      return answer
    } catch (error) {
      count(kind, error instanceof OutboundError ? error.fault : 'failed')
      throw error
    }
  }
  for (const kind of ['chain', 'callback', 'mail'] as const) {
    meter.counter('ledger_outbound_total', { kind, outcome: 'failed' })
  }
  const byStatus = ({ status }: { readonly status: number }): string =>
    `${Math.floor(status / 100)}xx`
  return {
    fetch: (input, init) => recordOutcome('chain', fetch(input, init), byStatus),
    outbound: (request, limits) => recordOutcome('callback', outbound(request, limits), byStatus),
    mail: (message) => recordOutcome('mail', mail(message), () => 'sent'),
  }
}

/** The payments, their settler instrumentOutbound. */
export function instrumentPayments(meter: Meter | null, payments: Payments): Payments {
  if (meter === null || payments.mode === 'off') return payments
  return { ...payments, settler: instrumentSettler(meter, payments.settler) }
}

/** Counts every check and every submission. */
export function instrumentSettler(meter: Meter, settler: Settler): Settler {
  const cell = (step: 'check' | 'submit', outcome: 'ok' | 'refused' | 'unavailable') =>
    meter.counter('ledger_settlement_steps_total', { step, outcome })
  for (const step of ['check', 'submit'] as const) cell(step, 'unavailable')
  const recordOutcome = async <T>(
    step: 'check' | 'submit',
    work: Promise<T>,
    isOk: (answer: T) => boolean,
  ): Promise<T> => {
    try {
      const answer = await work
      cell(step, isOk(answer) ? 'ok' : 'refused').value += 1
      return answer
    } catch (error) {
      cell(step, 'unavailable').value += 1
      throw error
    }
  }
  return {
    ...settler,
    check: (...given) => recordOutcome('check', settler.check(...given), ({ ok }) => ok),
    submit: (...given) => recordOutcome('submit', settler.submit(...given), () => true),
  }
}
