/**
 * When a request is over, however it ends. Node tells of the end of a response that has the connection; the responses
 * of requests that came behind it on the same connection (pipelining, RFC 9112 section 9.3.2) wait for their turn, and
 * are told of nothing where the connection closes before.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What is not over yet, by connection: one listener on each, however many requests come over it. */
const pendingOf = new WeakMap<Socket, Set<() => void>>()

/** Calls `tell` once: when the response is out, or its connection is gone. */
export function onResponseEnd(
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
  tell: () => void,
): void {
  const pending = pendingAt(incoming.socket)
  const end = (): void => {
    if (pending.delete(end)) tell()
  }
  pending.add(end)
  outgoing.once('close', end)
}

function pendingAt(socket: Socket): Set<() => void> {
  const known = pendingOf.get(socket)
  if (known !== undefined) return known
  const pending = new Set<() => void>()
  pendingOf.set(socket, pending)
  socket.once('close', () => {
    for (const end of pending) end()
  })
  return pending
}

/** Whether a response that is over had the connection: its head may be there and still have gone to nobody. */
export function wasTransmitted(outgoing: ServerResponse): boolean {
  return outgoing.socket !== null || outgoing.writableFinished
}
