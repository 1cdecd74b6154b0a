import { once } from 'node:events'
import type { Server } from 'node:net'

/** Starts a server on this machine. Returns its port, which the system chooses. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
