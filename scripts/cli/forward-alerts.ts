import { sendDelivery } from '../../builder/jobs/webhook-attempt.ts'
import { LedgerUnreachableError } from '../../src/client/errors.ts'
import { sendOnce } from '../../src/client/transport.ts'
import { newId } from '../../src/core/new-id.ts'
import { isoTime, secondMs } from '../../src/core/time.ts'
import { alertPayload, challengeType, payloadOf } from '../../src/db/alerts.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { outboundUserAgent } from '../../src/outbound/user-agent.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import type { Session } from './session.ts'

/** Never returns. @throws LedgerError, LedgerUnreachableError of the feed */
export async function forwardAlerts(session: Session, input: Input): Promise<never> {
  const { clock, random, print } = session
  const [url, secret] = [input.required('forward'), secretOf(session)]
  const { call } = await session.client('key')
  const [rail, severity] = [input.text('rail'), input.text('severity')]
  const read = async (since: string) =>
    await call('getAlertFeed', { query: { since, rail, severity } })
  const subscriptionId = newId(random, 'sub')
  const endpoint = { url, subscriptionId, secretVersion: 0, rotatedAt: null }
  const [userAgent, { signal }] = [outboundUserAgent(session.ledger), new AbortController()]
  const sender = { send: localSend(session), clock, secretOf: () => secret, userAgent, signal }
  const post = async (id: string, type: string, payload: string): Promise<void> => {
    const { status, error } = await sendDelivery(sender, { ...endpoint, id, type, payload })
    const at = isoTime(clock.now())
    const isAccepted = status !== null && status >= 200 && status < 300
    const result = error ?? (isAccepted ? 'accepted' : 'not accepted')
    const line = [
      at,
      String(status ?? '-').padEnd(3),
      type.padEnd(challengeType.length),
      id,
      result,
    ]
    print({ at, id, type, status, result }, `${line.join('  ')}\n`)
  }

  const start = input.text('since') ?? isoTime(clock.now())
  let feed = await read(start)
  const plan = `Forwarding alerts after ${start} to ${url}. Ctrl-C ends.`
  print({ secret, since: start, forward: url }, `Secret: ${secret}\n${plan}\n`)
  const challenge = newId(random, 'msg')
  const data = { subscription_id: subscriptionId, challenge }
  await post(challenge, challengeType, payloadOf(challengeType, isoTime(clock.now()), data))
  for (;;) {
    for (const event of feed.events)
      await post(newId(random, 'msg'), event.kind, alertPayload(event))
    await clock.sleep(feed.next_poll_hint.after_seconds * secondMs)
    feed = await read(feed.next_poll_hint.since)
  }
}

/** Unlike the service, sends to addresses that are not public. */
function localSend({ fetch, clock }: Session): PinnedFetch {
  return async (request, { timeoutMs }) => {
    const sending = sendOnce({ fetch, clock, timeoutMs }, { ...request, signed: [] })
    const { status, bytes } = await sending.catch((error: unknown) => {
      if (!(error instanceof LedgerUnreachableError)) throw error
      throw new OutboundError('unreachable', error.message)
    })
    return { status, contentType: null, body: Buffer.from(bytes) }
  }
}

function secretOf({ environment, random }: Session): string {
  const given = environment['LEDGER_WEBHOOK_SECRET']
  if (given === undefined) return `whsec_${Buffer.from(random.bytes(32)).toString('base64')}`
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(given)) return given
  throw new UsageError('LEDGER_WEBHOOK_SECRET must be whsec_ and at least 24 bytes in base64')
}
