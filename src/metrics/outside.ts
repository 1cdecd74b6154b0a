/** Counts what the service asks of others, without a word about whom it asked. */
import type { Fetch } from '../core/deps.ts'
import type { Mail } from '../mail/mail.ts'
import { OutboundError } from '../outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../outbound/pinned-fetch.ts'
import type { Payments, Settler } from '../payments/settler.ts'
import type { Meter } from './meter.ts'

export interface Outside {
  readonly fetch: Fetch
  readonly outbound: PinnedFetch
  readonly mail: Mail
}

export function counted(meter: Meter | null, { fetch, outbound, mail }: Outside): Outside {
  if (meter === null) return { fetch, outbound, mail }
  const tell = (kind: 'chain' | 'callback' | 'mail', outcome: string): void => {
    meter.counter('ledger_outbound_total', { kind, outcome }).value += 1
  }
  const told = async <T>(
    kind: 'chain' | 'callback' | 'mail',
    work: Promise<T>,
    outcomeOf: (answer: T) => string,
  ): Promise<T> => {
    try {
      const answer = await work
      tell(kind, outcomeOf(answer))
      return answer
    } catch (error) {
      tell(kind, error instanceof OutboundError ? error.fault : 'failed')
      throw error
    }
  }
  for (const kind of ['chain', 'callback', 'mail'] as const) {
    meter.counter('ledger_outbound_total', { kind, outcome: 'failed' })
  }
  const byStatus = ({ status }: { readonly status: number }): string =>
    `${Math.floor(status / 100)}xx`
  return {
    fetch: (input, init) => told('chain', fetch(input, init), byStatus),
    outbound: (request, limits) => told('callback', outbound(request, limits), byStatus),
    mail: (message) => told('mail', mail(message), () => 'sent'),
  }
}

/** The payments, their settler counted. */
export function countedPayments(meter: Meter | null, payments: Payments): Payments {
  if (meter === null || payments.mode === 'off') return payments
  return { ...payments, settler: countedSettler(meter, payments.settler) }
}

/** Counts every check and every submission. */
export function countedSettler(meter: Meter, settler: Settler): Settler {
  const cell = (step: 'check' | 'submit', outcome: 'ok' | 'refused' | 'unavailable') =>
    meter.counter('ledger_settlement_steps_total', { step, outcome })
  for (const step of ['check', 'submit'] as const) cell(step, 'unavailable')
  const told = async <T>(
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
    check: (...given) => told('check', settler.check(...given), ({ ok }) => ok),
    submit: (...given) => told('submit', settler.submit(...given), () => true),
  }
}
