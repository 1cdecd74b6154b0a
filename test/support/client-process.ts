/** Starts clients in a separate process, which is not delayed by the work of the test. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

import { z } from 'zod'

import type { Order } from './clients-child.ts'
import type { Timed } from './clients.ts'
import type { Program } from './program.ts'

const message = z.tuple([
  z.array(z.object({ status: z.number(), tookMs: z.number() })),
  z.unknown(),
])

export function startClients(program: Program) {
  const child = fork(program.scriptOf('test/support/clients-child.ts'))
  return {
    pid: child.pid,
    follow: async (order: Order): Promise<readonly Timed[]> => {
      child.send(order)
      const [answers] = message.parse(await once(child, 'message'))
      return answers
    },
    stop: () => void child.send('stop'),
    end: () => child.disconnect(),
  }
}
