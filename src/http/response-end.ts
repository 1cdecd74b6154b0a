// Node emits no event for a queued pipelined response (RFC 9112 section 9.3.2) if the connection closes.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Callbacks by connection, so that each socket has one listener. */
const pendingBySocket = new WeakMap<Socket, Set<() => void>>()

/** Calls `callback` exactly once, when the response has been sent or its connection has closed. */
export function onResponseEnd(
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
  callback: () => void,
): void {
  const pending = pendingAt(incoming.socket)
  const end = (): void => {
    if (pending.delete(end)) callback()
  }
  pending.add(end)
  outgoing.once('close', end)
}

function pendingAt(socket: Socket): Set<() => void> {
  const known = pendingBySocket.get(socket)
  if (known !== undefined) return known
  const pending = new Set<() => void>()
  pendingBySocket.set(socket, pending)
  socket.once('close', () => {
    for (const end of pending) end()
  })
  return pending
}

/** Returns true if an ended response was sent and not only queued behind another one. */
export function wasTransmitted(outgoing: ServerResponse): boolean {
  return outgoing.socket !== null || outgoing.writableFinished
}
