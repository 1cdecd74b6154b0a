/** A server without work. The latency of its answers measures the machine. */
import { createServer } from 'node:http'

const server = createServer((_req, res) => res.end('nothing'))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') {
    process.stdout.write(`"message":"listening","port":${address.port}\n`)
  }
})
