/** The metrics server: its own port, one path. */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'

import type { Log } from '../core/deps.ts'
import { listen } from '../http/serve.ts'
import { expositionType } from './meter.ts'

export type MetricsServer = Awaited<ReturnType<typeof serveMetrics>>

interface Options {
  readonly host: string
  readonly port: number
  readonly render: () => Promise<string>
  readonly log: Log
}

const PATH = '/metrics'
const TIMEOUT_MS = 5000
/** Enough for one or two scrapers. */
const MAX_CONNECTIONS = 32
const MAX_HEADER_BYTES = 8192

/** Starts listening. Rejects if the address is not available. */
export async function serveMetrics({ host, port, render, log }: Options) {
  const answer: RequestListener = (req, res) => {
    const end = (status: number, text: string, headers: Readonly<Record<string, string>> = {}) => {
      const body = Buffer.from(text)
      res.writeHead(status, {
        'Content-Type': 'text/plain; charset=utf-8',
        'Cache-Control': 'no-store',
        'Content-Length': body.byteLength,
        ...headers,
      })
      res.end(req.method === 'HEAD' ? undefined : body)
    }
    req.resume()
    if (req.url?.split('?', 1)[0] !== PATH) end(404, `Metrics are at ${PATH}\n`)
    else if (req.method !== 'GET' && req.method !== 'HEAD')
      end(405, 'GET\n', { Allow: 'GET, HEAD' })
    else {
      render().then(
        (text) => end(200, text, { 'Content-Type': expositionType }),
        (error: unknown) => {
          log.error('the metrics could not be rendered', { error: String(error) })
          end(500, 'The metrics could not be rendered\n')
        },
      )
    }
  }
  const server = createServer(
    {
      headersTimeout: TIMEOUT_MS,
      requestTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    answer,
  )
  server.maxConnections = MAX_CONNECTIONS
  return {
    address: await listen(server, host, port),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
