/** Kills the compiled service a hundred times while eight clients post, and then repeats the unanswered requests. */
import { expect, test } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { installBoardProgram } from './board.ts'
import { createClients } from './clients.ts'
import { newLedger, stop, useProgram } from './ledger.ts'

allowSlowTests('starts the compiled program')

const kills = 100
const timeoutMs = 900_000

const program = useProgram(installBoardProgram)

test(
  `after each of ${kills} kills every acknowledged receipt is stored exactly once`,
  async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const clients = createClients()
    for (let kill = 0; kill < kills; kill += 1) {
      const { service, url } = await ledger.start({ BUILDER: 'off' })
      await clients.retry(url)
      const killAt = clients.acknowledged() + 1 + ((kill * 37) % 80)
      await clients.post(url, Infinity, () => {
        if (clients.acknowledged() >= killAt) service.kill('SIGKILL')
        return false
      })
      await service.ended
      expect(clients.unanswered()).toBeGreaterThan(0)
      await clients.expectStored(ledger)
    }
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    await clients.retry(url)
    const stored = await clients.expectStored(ledger)
    await stop(service)
    process.stdout.write(`${kills} kills: ${stored} receipts acknowledged, each stored once\n`)
    ledger.remove()
  },
  timeoutMs,
)
