import { Resolver } from 'node:dns/promises'

import { secondMs } from '../core/time.ts'
import type { Resolve } from './pinned-fetch.ts'

const timeoutMs = 2 * secondMs

/**
 * Queries name servers without the thread pool of the process, whose few threads `dns.lookup` would block while a name
 * server does not answer. Reads no hosts file. IPv4 addresses come first.
 */
export function createStrangersResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
  if (servers !== undefined) resolver.setServers(servers)
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
}
