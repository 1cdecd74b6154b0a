/** What an invented node has answered about the escrow. */
import { z } from 'zod'

import type { AuthoredPacts } from '../../builder/world/authored-pacts.ts'
import { escrowKey } from '../../builder/world/pacts.ts'
import { evmSigner } from '../../src/client/signers.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { escrowStatuses, pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowPact } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent } from '../../src/core/pact/sources.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import type { ReadEscrow } from '../../src/db/pacts.ts'
import { seedOf } from './calls.ts'
import authored from './data/authored.json' with { type: 'json' }
import { digest, inventedHash, walletOf } from './payments.ts'
import { numberAt } from './sources.ts'

const status = z.enum(escrowStatuses)

export async function inventEscrow(
  { manifests }: AuthoredPacts,
  nowMs: number,
): Promise<ReadEscrow> {
  const events: EscrowEvent[] = []
  const states = new Map<number, EscrowPact>()
  for (const { pact_id: pactId, work, logs, ...pact } of authored.escrow) {
    const agreed = manifests.find((held) => held.pactId === pactId)?.checked.workHash ?? null
    const workHash = work === undefined ? agreed : `0x${digest(work)}`
    const ofPact = entriesOf(logs).flatMap(([kind, day]): EscrowEvent[] => {
      if (day === undefined) return []
      const atMs = nowMs - day * dayMs
      const at = { pactId, kind, atMs, logIndex: pactId, favorRecipient: null }
      const block = numberAt(pactEscrow.chain, atMs)
      const txHash = inventedHash(`${pactId} ${kind}`)
      return [{ ...at, block, txHash, workHash: kind === 'submitted' ? workHash : null }]
    })
    events.push(...ofPact)
    const worked = ofPact.find(({ kind }) => kind === 'submitted')
    states.set(pactId, {
      creator: walletOf(pact.creator),
      recipient: (await evmSigner(seedOf(pact.worker))).wallet.toLowerCase(),
      arbitrator: walletOf('An arbitrator'),
      amount: `${pact.amount_pact}${'0'.repeat(18)}`,
      deadlineMs: Date.parse(isoDate(nowMs + 40 * dayMs)),
      disputeWindowMs: 3 * dayMs,
      workSubmittedAtMs: worked?.atMs ?? null,
      workHash: worked?.workHash ?? null,
      status: status.parse(pact.status),
    })
  }
  const toBlock = numberAt(pactEscrow.chain, nowMs)
  const finalHash = inventedHash('final block')
  const reading = { escrow: escrowKey, toBlock, finalBlock: toBlock, finalHash, caughtUp: true }
  return { events, states, reading }
}
