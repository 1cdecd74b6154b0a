/** Drives the job exchange over HTTP. */
import { sql } from 'kysely'

import { bodySha256, messages } from '../../src/auth/messages.ts'
import { bid, job } from '../../src/contract/schemas/job.ts'
import type { Bid, Job } from '../../src/contract/schemas/job.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { tables } from '../../src/db/schema.ts'
import type { Service } from './http-service.ts'
import { makePartner, partnerClient } from './partners.ts'
import { requestJson } from './requests.ts'
import type { JsonAnswer } from './requests.ts'
import { evmWallet, nearWallet, testService } from './wallets.ts'
import type { TestWallet } from './wallets.ts'

export const parties = {
  poster: evmWallet('poster'),
  worker: nearWallet('worker'),
  bidder: evmWallet('bidder'),
  stranger: evmWallet('stranger'),
} as const
export type Party = keyof typeof parties

const jobs = '/api/v1/jobs'
export const agreedUsdc = 37.5

export interface Exchange {
  readonly post: (changes?: object) => Promise<Job>
  readonly bid: (jobId: string, who?: Party, changes?: object) => Promise<Bid>
  readonly awarded: () => Promise<Job>
  readonly delivered: () => Promise<Job>
  /** Posts to `/jobs/<jobId>/<verb>` as a party. */
  readonly act: (who: Party, jobId: string, verb: string, body?: object) => Promise<JsonAnswer>
  readonly read: (who: Party, path: string) => Promise<JsonAnswer>
  readonly look: (path: string) => Promise<JsonAnswer>
  /** The signed body of a delivery. */
  readonly statement: (
    wallet: TestWallet,
    jobId: string,
    changes?: object,
  ) => Promise<Record<string, unknown>>
  readonly postBody: (changes?: object) => object
  readonly rows: () => Promise<Readonly<Record<string, readonly unknown[]>>>
}

export async function openExchange(service: Service): Promise<Exchange> {
  for (const [handle, wallet] of Object.entries(parties)) {
    await makePartner(service, wallet, { handle })
  }
  const { clock, actions } = service
  const clients = {
    poster: partnerClient(service, parties.poster),
    worker: partnerClient(service, parties.worker),
    bidder: partnerClient(service, parties.bidder),
    stranger: partnerClient(service, parties.stranger),
  }
  const postBody = (changes: object = {}) => ({
    title: 'Translate a manual',
    description: 'Twenty pages.\nEnglish to German.',
    skills: ['technical-writing', 'my-own-skill'],
    budget_usdc: '40.5',
    deadline: isoTime(clock.now() + 24 * hourMs),
    ...changes,
  })
  const act: Exchange['act'] = (who, jobId, verb, body = {}) =>
    clients[who]('POST', `${jobs}/${jobId}/${verb}`, body)
  const statement: Exchange['statement'] = async (wallet, jobId, changes = {}) => {
    const timestamp = isoTime(clock.now())
    const unsigned = {
      uri: 'https://files.example.com/manual.pdf',
      content_sha256: 'ab'.repeat(32),
      note: 'All twenty pages.',
      ...changes,
      wallet: wallet.address,
      timestamp,
      signature: '',
    }
    const from = { wallet: wallet.address, timestamp, bodySha256: bodySha256(unsigned), jobId }
    return { ...unsigned, signature: await wallet.sign(messages.deliver(testService, from)) }
  }
  const exchange: Exchange = {
    postBody,
    post: async (changes) => {
      const { status, body } = await clients.poster('POST', jobs, postBody(changes))
      if (status !== 201) throw new Error(JSON.stringify(body))
      return job.parse(body)
    },
    bid: async (jobId, who = 'worker', changes = {}) => {
      const terms = { price_usdc: agreedUsdc, eta_hours: 12, proposal: `By ${who}.`, ...changes }
      return bid.parse((await act(who, jobId, 'bid', terms)).body)
    },
    awarded: async () => {
      const { id } = await exchange.post()
      const { id: bidId } = await exchange.bid(id)
      await exchange.bid(id, 'bidder')
      return job.parse((await act('poster', id, 'award', { bid_id: bidId })).body)
    },
    delivered: async () => {
      const { id } = await exchange.awarded()
      await act('worker', id, 'deliver', await statement(parties.worker, id))
      return job.parse((await exchange.look(`${jobs}/${id}`)).body)
    },
    act,
    read: (who, path) => clients[who]('GET', path),
    look: (path) => requestJson(service, path),
    statement,
    rows: async () => {
      const { reader } = actions.database
      const found: Record<string, readonly unknown[]> = {}
      for (const name of Object.keys(tables)) {
        found[name] = (await sql.raw(`select * from ${name}`).execute(reader)).rows
      }
      return found
    },
  }
  return exchange
}
