import { Agent, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface ReadRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface TimedBody {
  readonly body: Buffer
  readonly ms: number
}

/** Reads over one keep-alive connection. `fetch` alone takes longer than some answers. */
export function createReader() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    /** @throws Error for a status other than 200 */
    read: async ({ url, headers = {} }: ReadRequest): Promise<TimedBody> => {
      const startedMs = performance.now()
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        get(url, { agent, headers }, resolve).on('error', reject)
      })
      const body = await buffer(response)
      const ms = performance.now() - startedMs
      if (response.statusCode !== 200) throw new Error(`${url} answers ${response.statusCode}`)
      return { body, ms }
    },
    close: () => agent.destroy(),
  }
}
