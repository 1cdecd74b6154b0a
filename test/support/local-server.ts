import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'

import { afterAll, beforeAll, onTestFinished } from 'vitest'

import { listen } from './listen.ts'

export interface LocalServer {
  readonly url: string
  readonly stop: () => Promise<void>
}

export async function startLocalServer(listener: RequestListener): Promise<LocalServer> {
  const server = createServer(listener)
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts a server for the running test and returns its URL. */
export async function serveDuringTest(listener: RequestListener): Promise<string> {
  const { url, stop } = await startLocalServer(listener)
  onTestFinished(stop)
  return url
}

/** Runs a server for all tests of the file or `describe`. */
export function useLocalServer(listener: RequestListener): { readonly url: string } {
  let server: LocalServer
  beforeAll(async () => {
    server = await startLocalServer(listener)
  })
  afterAll(() => server.stop())
  return {
    get url() {
      return server.url
    },
  }
}

/** Returns a URL that refuses connections. */
export async function unusedUrl(): Promise<string> {
  const { url, stop } = await startLocalServer(() => undefined)
  await stop()
  return url
}
