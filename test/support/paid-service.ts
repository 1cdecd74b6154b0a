/** A service that accepts payments on a local chain. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { getAddress } from 'viem'
import type { Address } from 'viem'
import { z } from 'zod'

import { createServiceNode } from '../../src/chain/node.ts'
import type { LogLevel } from '../../src/core/log.ts'
import { createHolder } from '../../src/db/holder.ts'
import { loadPayments } from '../../src/payments/load.ts'
import type { PaymentSettings } from '../../src/payments/load.ts'
import type { Payments } from '../../src/payments/settler.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { handClock, publicDir, startService } from './http-service.ts'
import type { HandClock, PublicDir, Service } from './http-service.ts'
import type { UsdcChain } from './usdc-chain.ts'
import { chainAccount, chainKey } from './x402-payment.ts'

export interface PaidService extends Service {
  readonly receiver: Address
  readonly settler: Address
  /** The payment terms of a path in an x402 version. */
  readonly terms: (path: string, version: 1 | 2) => Promise<object>
}

export interface PaidOptions {
  readonly chain: UsdcChain
  /** The default is the chain itself. */
  readonly rpcUrl?: string
  readonly facilitatorUrl?: string
  readonly databasePath?: string
  readonly level?: LogLevel
  /** The published documents; none by default. */
  readonly documents?: Parameters<PublicDir['publish']>[0]
  /** Factor by which the timeouts of the service are shorter. */
  readonly speed?: number
  readonly pausesMs?: readonly number[]
  /** With limits, the clock stands still, so that no budget refills. */
  readonly limits?: 'on'
}

/** Pauses between checks for a transfer: patient if each transaction is mined at once, impatient if none is. */
const patientMs = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240]
export const impatientMs = [20, 40, 80]
const maxGasPriceWei = 100_000_000n

/** The real clock, since clients sign and the chain mines by it. */
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
  const clock = options.limits === 'on' ? handClock(Date.now()) : wallClock(speed)
  const folder = await mkdtemp(join(tmpdir(), 'ledger-paid-'))
  const keyFile = join(folder, 'settler.key')
  await writeFile(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
  const settings: PaymentSettings =
    facilitatorUrl === undefined
      ? { mode: 'local', receiver, keyFile, maxGasPriceWei }
      : { mode: 'facilitator', receiver, facilitatorUrl, cdpKey: null }
  const deps = { clock, fetch, random: systemRandom }
  const node = createServiceNode(rpcUrl, deps)
  const loaded = await loadPayments(settings, { ...deps, node, holder: createHolder() })
  const payments: Payments = Object.defineProperty(loaded, 'pausesMs', {
    get: () => options.pausesMs ?? (chain.isAutomining() ? patientMs : impatientMs),
  })
  const published = await publicDir()
  if (options.documents !== undefined) await published.publish(options.documents)
  const service = await startService(published.dir, {
    clock,
    limits: options.limits ?? 'off',
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
