/** A TCP proxy that delays what it forwards, and can cut the connection that sends a given text. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Cuts the next connection that sends `text`, before or after the target has it; resolves when it is cut. */
  readonly cutAt: (text: string, when: 'before' | 'after') => Promise<void>
  readonly stop: () => Promise<void>
}

/** @param delayMs added to each round trip, on the way to the target */
export async function startTcpProxy(target: number, delayMs = 0): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let cut: { text: string; when: 'before' | 'after'; done: () => void } | null = null
  const forward = (from: Socket, to: Socket, waitMs: number): void => {
    const send = (chunk: Buffer): void => {
      if (cut === null || !chunk.includes(cut.text)) return void to.write(chunk)
      const { when, done } = cut
      cut = null
      const end = (): void => {
        from.resetAndDestroy()
        to.destroy()
        done()
      }
      if (when === 'before') end()
      else to.write(chunk, end)
    }
    from.on('data', (chunk) => (waitMs === 0 ? send(chunk) : setTimeout(() => send(chunk), waitMs)))
    from.on('close', () => setTimeout(() => to.destroy(), waitMs))
    from.on('error', () => undefined)
  }
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    forward(client, upstream, delayMs)
    forward(upstream, client, 0)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = server.address() as AddressInfo
  return {
    port,
    cutAt: (text, when) =>
      new Promise((done) => {
        cut = { text, when, done }
      }),
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
