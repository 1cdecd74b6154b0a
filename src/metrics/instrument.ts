/** Counters for outbound requests. Labels never name the remote. */
import type { Fetch } from '../core/deps.ts'
import type { Mail } from '../mail/mail.ts'
import { OutboundError } from '../outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../outbound/pinned-fetch.ts'
import type { Payments, Settler } from '../payments/settler.ts'
import type { Meter } from './meter.ts'

export interface OutboundClients {
  readonly fetch: Fetch
  readonly send: PinnedFetch
  readonly mail: Mail
}

/** Counts the outcome of a promise and passes it on. */
async function recordOutcome<Result>(
  work: Promise<Result>,
  count: (outcome: string) => void,
  outcomeOf: (result: Result) => string,
  outcomeOfError: (error: unknown) => string,
): Promise<Result> {
  try {
    const result = await work
    count(outcomeOf(result))
    return result
  } catch (error) {
    count(outcomeOfError(error))
    throw error
  }
}

export function instrumentOutbound(
  meter: Meter | null,
  { fetch, send, mail }: OutboundClients,
): OutboundClients {
  if (meter === null) return { fetch, send, mail }
  const observe = <Result>(
    kind: 'chain' | 'callback' | 'mail',
    work: Promise<Result>,
    outcomeOf: (result: Result) => string,
  ): Promise<Result> =>
    recordOutcome(
      work,
      (outcome) => (meter.counter('ledger_outbound_total', { kind, outcome }).value += 1),
      outcomeOf,
      (error) => (error instanceof OutboundError ? error.fault : 'failed'),
    )
  for (const kind of ['chain', 'callback', 'mail'] as const) {
    meter.counter('ledger_outbound_total', { kind, outcome: 'failed' })
  }
  const statusClass = ({ status }: { readonly status: number }) => `${Math.floor(status / 100)}xx`
  return {
    fetch: (input, init) => observe('chain', fetch(input, init), statusClass),
    send: (request, limits) => observe('callback', send(request, limits), statusClass),
    mail: (message) => observe('mail', mail(message), () => 'sent'),
  }
}

export function instrumentPayments(meter: Meter | null, payments: Payments): Payments {
  if (meter === null || payments.mode === 'off') return payments
  return { ...payments, settler: instrumentSettler(meter, payments.settler) }
}

/** Counts every check and every submission. */
export function instrumentSettler(meter: Meter, settler: Settler): Settler {
  const observe = <Result>(
    step: 'check' | 'submit',
    work: Promise<Result>,
    isOk: (result: Result) => boolean,
  ): Promise<Result> =>
    recordOutcome(
      work,
      (outcome) => (meter.counter('ledger_settlement_steps_total', { step, outcome }).value += 1),
      (result) => (isOk(result) ? 'ok' : 'refused'),
      () => 'unavailable',
    )
  for (const step of ['check', 'submit'] as const) {
    meter.counter('ledger_settlement_steps_total', { step, outcome: 'unavailable' })
  }
  return {
    ...settler,
    check: (...given) => observe('check', settler.check(...given), ({ ok }) => ok),
    submit: (...given) => observe('submit', settler.submit(...given), () => true),
  }
}
