/** The whole service with payments on, over a chain of this machine, with nothing published. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { getAddress } from 'viem'
import type { Address } from 'viem'
import { z } from 'zod'

import { createWalletChain } from '../../src/auth/wallet-chain.ts'
import type { LogLevel } from '../../src/core/log.ts'
import { loadPayments } from '../../src/payments/load.ts'
import type { PaymentSettings } from '../../src/payments/load.ts'
import type { Payments } from '../../src/payments/settler.ts'
import { publicDir, startService } from './http-service.ts'
import type { HandClock, Service } from './http-service.ts'
import type { UsdcChain } from './usdc-chain.ts'
import { chainAccount, chainKey } from './x402-payment.ts'

export interface PaidService extends Service {
  readonly receiver: Address
  /** The wallet that settles, where the service does it itself. */
  readonly settler: Address
  /** What the service asks for a read, in the words of either version. */
  readonly terms: (path: string, version: 1 | 2) => Promise<object>
}

export interface PaidOptions {
  readonly chain: UsdcChain
  /** Where the service asks for the chain, if not at the node itself. */
  readonly rpcUrl?: string
  /** Leaves settlement to this facilitator. */
  readonly facilitatorUrl?: string
  readonly databasePath?: string
  readonly level?: LogLevel
  /** How much faster than it should the service loses patience, with the chain and with each answer. */
  readonly speed?: number
  /** Between its looks for a transfer, where that is to be another time than the chain makes likely. */
  readonly pausesMs?: readonly number[]
}

/**
 * How long the service waits for a transaction: far longer than a loaded machine needs where each is mined when it
 * comes, and not long where none is mined.
 */
const patientMs = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240]
export const impatientMs = [20, 40, 80]
const maxGasPriceWei = 100_000_000n

/** The time of the machine, by which clients sign and the chain mines. */
function wallClock(speed: number): HandClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    monotonic: () => performance.now() * speed + aheadMs,
    sleep: async (delayMs, signal) => {
      await sleep(delayMs / speed, undefined, signal === undefined ? {} : { signal })
    },
    advance: (deltaMs) => {
      aheadMs += deltaMs
    },
  }
}

const challenge = z.object({ accepts: z.tuple([z.looseObject({})]) })

export async function startPaidService(options: PaidOptions): Promise<PaidService> {
  const { chain, rpcUrl = chain.url, facilitatorUrl, databasePath, speed = 1 } = options
  const receiver = chainAccount('receiver').address
  const settler = chainAccount('settler').address
  await chain.fund(settler)
  const clock = wallClock(speed)
  const folder = await mkdtemp(join(tmpdir(), 'ledger-paid-'))
  const keyFile = join(folder, 'settler.key')
  await writeFile(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
  const settings: PaymentSettings =
    facilitatorUrl === undefined
      ? { mode: 'local', receiver, keyFile, maxGasPriceWei }
      : { mode: 'facilitator', receiver, facilitatorUrl }
  const { request } = createWalletChain(rpcUrl, { fetch, clock })
  const loaded = await loadPayments(settings, { clock, fetch, request })
  const payments: Payments = Object.defineProperty(loaded, 'pausesMs', {
    get: () => options.pausesMs ?? (chain.isAutomining() ? patientMs : impatientMs),
  })
  const published = await publicDir()
  const service = await startService(published.dir, {
    clock,
    actions: { payments },
    ...(databasePath === undefined ? {} : { databasePath }),
    ...(options.level === undefined ? {} : { level: options.level }),
  })
  return {
    ...service,
    receiver: getAddress(receiver),
    settler,
    terms: async (path, version) => {
      const response = await fetch(`${service.url}${path}`)
      const body: unknown = await response.json()
      if (version === 1) return challenge.parse(body).accepts[0]
      const header = response.headers.get('payment-required') ?? ''
      const text = Buffer.from(header, 'base64').toString()
      return challenge.parse(JSON.parse(text)).accepts[0]
    },
    stop: async () => {
      await service.stop()
      await published.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
