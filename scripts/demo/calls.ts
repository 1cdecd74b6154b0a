/** Signed calls of invented workers, partners and platforms, and when they make them, in days before the demo is created. */
import { z } from 'zod'

import type { LedgerClient } from '../../src/client/client.ts'
import { signReceipt } from '../../src/client/sign-receipt.ts'
import type { ReceiptFacts } from '../../src/client/sign-receipt.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import { ed25519Signer, evmSigner, parseSecretKey, receiptKeyOf } from '../../src/client/signers.ts'
import type { ReceiptKey, WalletSigner } from '../../src/client/signers.ts'
import { railChain } from '../../src/contract/schemas/rail.ts'
import { dayMs, isoTime, secondMs } from '../../src/core/time.ts'
import authored from './data/authored.json' with { type: 'json' }
import people from './data/people.json' with { type: 'json' }
import { digest, walletOf } from './payments.ts'
import type { DemoSources } from './sources.ts'

const moves = z.enum(['award', 'deliver', 'accept', 'dispute', 'cancel'])
const { platform } = authored.platform

export interface CalledLedger {
  readonly clientOf: (signer?: WalletSigner) => LedgerClient
  readonly oaths: readonly OathText[]
  readonly nowMs: number
  readonly plan: (day: number, run: () => Promise<unknown>) => void
  readonly pay: DemoSources['pay']
  /** What the operator writes with `admin disputes`. */
  readonly decide: (id: string, event: string, text: string) => Promise<void>
}

export async function planCalls(calls: CalledLedger): Promise<void> {
  const reader = calls.clientOf()
  for (const { message, rating } of people.feedback) {
    calls.plan(5, () => reader.call('submitFeedback', { body: { message, rating, page: '/' } }))
  }
  for (const [place, worker] of people.workers.entries()) await planWorker(calls, worker, place)
  await planJobs(calls)
}

async function planWorker(
  { nowMs, clientOf, oaths, plan, pay, decide }: CalledLedger,
  worker: (typeof people.workers)[number],
  place: number,
): Promise<void> {
  const { name, skills, day: since, receipts, rails, transfers = [] } = worker
  const seed = seedOf(name)
  const signer = place % 4 === 3 ? ed25519Signer('solana', seed) : await evmSigner(seed)
  const client = clientOf(signer)
  plan(since, async () => {
    const body = { display_name: name, skills, receipt_key: keyOf(name).publicKey }
    await client.call('registerWorker', { body, oath: newestOath(oaths, 'worker') })
    const oath = newestOath(oaths, 'claim')
    await client.call('claimSpot', { body: { display_name: name }, oath })
  })

  const submit = async (occurredMs: number, facts: Partial<ReceiptFacts>, signedBy?: string) => {
    const receipt: ReceiptFacts = {
      rail: rails[0] ?? '',
      to_wallet: signer.wallet,
      amount_usdc: 25,
      asset_symbol: 'USDC',
      occurred_at: isoTime(occurredMs),
      summary: `${skills[0]} for an invented client`,
      ...facts,
    }
    const body = signReceipt(receipt, keyOf(signedBy ?? name), signedBy)
    return (await client.call('submitReceipt', { body })).receipt_id
  }
  const timeOf = (day: number) => nowMs - day * dayMs - secondMs
  for (let at = 0; at < receipts; at += 1) {
    const day = (since - 1) * (1 - at / receipts)
    const facts = {
      rail: rails[at % rails.length] ?? '',
      from_wallet: payerOf(place + (at % (1 + (place % 4)))),
      amount_usdc: (8 + ((place * 37 + at * 53) % 150)) / 2,
    }
    plan(day, () => submit(timeOf(day), facts, platform))
  }
  plan(since / 2, () => submit(timeOf(since / 2), { amount_usdc: 18 }))

  for (const [at, { day, receipt, paid, dispute }] of transfers.entries()) {
    const from = payerOf(at)
    const payment = { atMs: timeOf(day), from, to: signer.wallet.toLowerCase() }
    const chain = railChain.parse(receipt.chain)
    const hash = paid && pay({ ...payment, ...paid, chain })
    const facts = { ...receipt, chain, ...(hash && { from_wallet: from, tx_hash: hash }) }
    let id = ''
    plan(day, async () => {
      id = await submit(payment.atMs, facts)
    })
    if (dispute === undefined) continue
    const { claim, end, answer } = dispute
    plan(dispute.day, async () => {
      const body = { target: { receipt_id: id }, claim, figure: 'amount_usdc' }
      const { dispute_id } = await client.call('openDispute', { body })
      if (end === 'withdrawn') {
        await client.call('withdrawDispute', { params: { id: dispute_id }, body: { dispute_id } })
      } else if (end !== 'open') {
        await decide(dispute_id, end, answer ?? '')
      }
    })
  }
}

async function planJobs({ nowMs, clientOf, oaths, plan }: CalledLedger): Promise<void> {
  const clientNamed = async (name: string) => clientOf(await evmSigner(seedOf(name)))
  for (const { day, display_name, handle } of people.partners) {
    const client = await clientNamed(display_name)
    const body = { handle, display_name, tier: 'free' } as const
    plan(day, () => client.call('signupPartner', { body, oath: newestOath(oaths, 'partner') }))
  }
  const poster = await clientNamed('Northwind Labs')
  const bidder = await clientNamed('Marginalia')
  const other = await clientNamed('Second Reader')
  for (const { day, moves: names = [], ...job } of people.jobs) {
    const params = { id: '' }
    let bid = ''
    plan(day, async () => {
      const deadline = isoTime(nowMs + (21 - day) * dayMs)
      const { id } = await poster.call('postJob', { body: { ...job, deadline } })
      params.id = id
      const { budget_usdc: price_usdc } = job
      const offer = { price_usdc, eta_hours: 24, proposal: 'Done twice, see receipts.' }
      bid = (await bidder.call('bidOnJob', { params, body: offer })).id
      await other.call('bidOnJob', { params, body: { ...offer, eta_hours: 48 } })
    })
    const move = {
      award: () => poster.call('awardJob', { params, body: { bid_id: bid } }),
      deliver: () => {
        const uri = `https://work.example/${params.id}`
        return bidder.call('deliverJob', {
          params,
          body: { uri, content_sha256: digest(job.title) },
        })
      },
      accept: () => poster.call('acceptJob', { params }),
      dispute: () =>
        poster.call('disputeJob', { params, body: { reason: 'Two sources are missing.' } }),
      cancel: () => poster.call('cancelJob', { params }),
    }
    for (const [at, name] of names.entries()) plan(day - at - 1, move[moves.parse(name)])
  }
  const alert = { url: 'https://hooks.example/ledger', severity: 'critical' } as const
  plan(0.5, () => poster.call('subscribeAlerts', { body: alert }))
}

function payerOf(at: number): string {
  return walletOf(people.customers[at % people.customers.length] ?? '')
}

export function seedOf(name: string): Uint8Array {
  return Uint8Array.from(Buffer.from(digest(`seed of ${name}`), 'hex'))
}

/** The key that signs the receipts of a platform or worker. */
export function keyOf(name: string): ReceiptKey {
  return receiptKeyOf(parseSecretKey(`seed:${digest(`receipt key of ${name}`)}`))
}
