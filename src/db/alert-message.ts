import { alertKind } from '../contract/schemas/alert.ts'
import type { AlertEvent } from '../contract/schemas/alert.ts'
import type { EventRecord } from './events.ts'

/** Standard Webhooks recommends less than 20 kB. */
const MAX_PAYLOAD_BYTES = 19_000

export function alertEventOf(record: EventRecord): AlertEvent {
  return {
    id: record.id,
    kind: alertKind.parse(record.kind),
    rail: record.rail,
    severity: record.severity,
    title: record.title,
    data: record.data,
    created_at: record.createdAt,
  }
}

/** The body of a delivery. A marker replaces oversized data; the feed contains all of it. */
export function alertPayload(event: AlertEvent): string {
  const whole = payloadOf(event.kind, event.created_at, event)
  if (Buffer.byteLength(whole) <= MAX_PAYLOAD_BYTES) return whole
  return payloadOf(event.kind, event.created_at, { ...event, data: { truncated: true } })
}

export function testPayload(subscriptionId: string, createdAt: string): string {
  return payloadOf('test', createdAt, { subscription_id: subscriptionId })
}

function payloadOf(type: string, timestamp: string, data: object): string {
  return JSON.stringify({ type, timestamp, data })
}
