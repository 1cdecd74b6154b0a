/** Limits of open connections: each network has a share, and the idlest connections are closed first. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import { repeatEvery } from '../core/concurrency.ts'
import type { Clock } from '../core/deps.ts'
import type { NetworkHash } from '../limits/network-key.ts'

/** Connections of one IPv4 address or IPv6 /64. `scripts/deploy/nginx.conf` has the same number. */
export const CONNECTIONS_PER_HOST = 128
/** Connections of one IPv6 /48. */
const CONNECTIONS_PER_RANGE = 1024
/** Requests that a connection may send before the first of them is answered. Browsers, clients and proxies send one. */
export const PIPELINED_PER_CONNECTION = 8
const SWEEP_INTERVAL_MS = 1000
/** Idle time allowed while more than half of all connections are in use. */
const CROWDED_IDLE_MS = 5000
/** The client must receive a response within this time plus the time that its bytes need at the slowest rate. */
const DELIVERY_BASE_MS = 30_000
const SLOWEST_BYTES_PER_MS = 16

export interface ConnectionOwners {
  readonly networkOf: NetworkHash
  /** A proxy carries the requests of many clients, so the limits of a network do not apply to its connections. */
  readonly isProxy: (address: string) => boolean
}

export interface ConnectionLimitOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly maxConnections: number
  /** Null without limits per network. */
  readonly owners: ConnectionOwners | null
}

interface Connection {
  readonly socket: Socket
  /** The groups that the connection counts in; none for a proxy. */
  readonly groups: readonly Group[]
  /** Requests without a complete response. */
  unanswered: number
  activeMs: number
  bytesRead: number
  bytesWritten: number
  /** Time at which bytes of the current response began to wait for the client; null if none wait. */
  pendingSinceMs: number | null
}

interface Group {
  readonly key: number
  readonly limit: number
  /** In the order of the last activity, as of the last sweep. */
  readonly members: Set<Connection>
}

type Listener = (req: IncomingMessage, res: ServerResponse) => void

/** Lets `listener` answer the requests of `server`, within the limits. Returns a function that ends the periodic check. */
export function limitConnections(
  server: Server,
  listener: Listener,
  { clock, maxConnections, owners }: ConnectionLimitOptions,
): () => void {
  const bySocket = new WeakMap<Socket, Connection>()
  const all: Group = { key: 0, limit: maxConnections, members: new Set() }
  const groups = new Map<number, Group>()

  const groupOf = (key: number, limit: number): Group => {
    const group = groups.get(key) ?? { key, limit, members: new Set() }
    groups.set(key, group)
    return group
  }
  const groupsOf = (address: string | undefined): readonly Group[] => {
    if (owners === null || (address !== undefined && owners.isProxy(address))) return []
    const { host, range } = owners.networkOf(address)
    const own = groupOf(host, CONNECTIONS_PER_HOST)
    return range === null ? [own] : [own, groupOf(range, CONNECTIONS_PER_RANGE)]
  }
  const remove = (connection: Connection): void => {
    all.members.delete(connection)
    for (const group of connection.groups) {
      group.members.delete(connection)
      const isLast = group.members.size === 0 && groups.get(group.key) === group
      if (isLast) groups.delete(group.key)
    }
  }
  const evict = (connection: Connection): void => {
    remove(connection)
    connection.socket.destroy()
  }

  server.on('connection', (socket) => {
    const connection: Connection = {
      socket,
      groups: groupsOf(socket.remoteAddress),
      unanswered: 0,
      activeMs: clock.monotonic(),
      bytesRead: 0,
      bytesWritten: 0,
      pendingSinceMs: null,
    }
    bySocket.set(socket, connection)
    for (const group of [...connection.groups, all]) group.members.add(connection)
    socket.once('close', () => remove(connection))
    for (const group of [...connection.groups, all]) {
      if (group.members.size > group.limit) evict(idlestOf(group) ?? connection)
    }
  })

  const answer: Listener = (req, res) => {
    const connection = bySocket.get(req.socket)
    if (connection === undefined || req.socket.destroyed) return
    connection.unanswered += 1
    // One read of a socket can contain up to a thousand requests.
    if (connection.unanswered > PIPELINED_PER_CONNECTION) {
      req.socket.destroy()
      return
    }
    res.once('close', () => {
      connection.unanswered -= 1
    })
    listener(req, res)
  }
  server.on('request', answer)
  // Expectations other than 100-continue may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', answer)

  const sweep = (): Promise<void> => {
    const connections = [...all.members]
    const nowMs = clock.monotonic()
    const isCrowded = all.members.size > maxConnections / 2
    for (const connection of connections) {
      if (noteProgress(connection, nowMs)) {
        for (const { members } of [...connection.groups, all]) {
          members.delete(connection)
          members.add(connection)
        }
      }
      const idleMs = nowMs - connection.activeMs
      const isIdle = connection.unanswered === 0 && idleMs > CROWDED_IDLE_MS
      const isCrowding = isCrowded && isIdle && connection.groups.length > 0
      if (isCrowding || isStalled(connection, nowMs)) evict(connection)
    }
    return Promise.resolve()
  }
  const stopping = new AbortController()
  void repeatEvery(SWEEP_INTERVAL_MS, sweep, { clock, signal: stopping.signal })
  return () => stopping.abort()
}

function idlestOf({ members }: Group): Connection | undefined {
  for (const connection of members) if (connection.unanswered === 0) return connection
  return undefined
}

/** Returns whether bytes have arrived or a response was written since the last call. */
function noteProgress(connection: Connection, nowMs: number): boolean {
  const { bytesRead, bytesWritten, writableLength } = connection.socket
  const isActive = bytesRead > connection.bytesRead || bytesWritten > connection.bytesWritten
  if (writableLength === 0) connection.pendingSinceMs = null
  else if (bytesWritten > connection.bytesWritten) connection.pendingSinceMs = nowMs
  if (!isActive) return false
  connection.bytesRead = bytesRead
  connection.bytesWritten = bytesWritten
  connection.activeMs = nowMs
  return true
}

/** Progress within a response is not visible, so the whole of it has one deadline. */
function isStalled({ socket, pendingSinceMs }: Connection, nowMs: number): boolean {
  if (pendingSinceMs === null) return false
  const allowedMs = DELIVERY_BASE_MS + socket.writableLength / SLOWEST_BYTES_PER_MS
  return nowMs - pendingSinceMs > allowedMs
}
