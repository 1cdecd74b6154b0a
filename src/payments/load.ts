import { open } from 'node:fs/promises'

import type { PrivateKeyAccount } from 'viem'

import { WrongChainError } from '../chain/errors.ts'
import type { EvmNode } from '../chain/node.ts'
import type { Clock, Fetch, Random } from '../core/deps.ts'
import { outageProblem, unavailabilityOf } from './authorization.ts'
import { createCdpTokens } from './cdp-token.ts'
import type { CdpKey } from './cdp-token.ts'
import { createUsdcChain } from './chain.ts'
import { createFacilitator } from './facilitator.ts'
import { createLocalSettler } from './local-settler.ts'
import type { Payments, Settler } from './settler.ts'

export type PaymentSettings =
  | { readonly mode: 'off'; readonly receiver: string | null }
  | {
      readonly mode: 'local'
      readonly receiver: string
      readonly keyFile: string
      readonly maxGasPriceWei: bigint
    }
  | {
      readonly mode: 'facilitator'
      readonly receiver: string
      readonly facilitatorUrl: string
      readonly cdpKey: CdpKey | null
    }

export interface PaymentDeps {
  readonly clock: Clock
  readonly random: Pick<Random, 'bytes'>
  readonly fetch: Fetch
  readonly node: EvmNode
  readonly pausesMs?: readonly number[]
  readonly holder: string
}

/** Messages name the setting and contain no secret. */
export class PaymentSettingsError extends Error {
  override readonly name = 'PaymentSettingsError'
}

/** 20 seconds in total: ten blocks of Base. */
const PAUSES_MS = [250, 500, 750, 1000, 1000, 1500, 2000, 2000, 2000, 3000, 3000, 3000]

/** An unreachable node does not prevent the start; a wrong chain id does. @throws PaymentSettingsError */
export async function loadPayments(
  settings: PaymentSettings,
  deps: PaymentDeps,
): Promise<Payments> {
  const { mode, receiver } = settings
  if (mode === 'off') return { mode, receiver, problems: () => [] }
  const chain = createUsdcChain(deps.node, deps)
  const settler = await settlerOf(settings, { ...deps, chain })
  let problems: readonly string[] = []
  const inspect = async (): Promise<void> => {
    const outage = await unavailabilityOf(chain.requireChain())
    problems = outage === null ? await settler.inspect() : [outageProblem(outage)]
  }
  const outage = await unavailabilityOf(chain.requireChain())
  if (outage?.cause instanceof WrongChainError) {
    throw new PaymentSettingsError(`RPC_URL_BASE: ${outage.cause.message}`)
  }
  return {
    mode,
    receiver: settings.receiver,
    settler,
    chain,
    holder: deps.holder,
    inFlight: new Set(),
    pausesMs: deps.pausesMs ?? PAUSES_MS,
    problems: () => problems,
    inspect,
  }
}

async function settlerOf(
  settings: Exclude<PaymentSettings, { mode: 'off' }>,
  deps: PaymentDeps & { readonly chain: ReturnType<typeof createUsdcChain> },
): Promise<Settler> {
  if (settings.mode === 'facilitator') {
    const { cdpKey, facilitatorUrl } = settings
    const tokenFor = cdpKey && createCdpTokens(cdpKey, deps)
    return createFacilitator({ ...deps, url: facilitatorUrl.replace(/\/+$/, ''), tokenFor })
  }
  const { keyFile, maxGasPriceWei } = settings
  return createLocalSettler({ ...deps, account: await loadAccount(keyFile), maxGasPriceWei })
}

const OTHERS = 0o077
const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/

async function loadAccount(path: string): Promise<PrivateKeyAccount> {
  const text = await readKey(path)
  if (!PRIVATE_KEY.test(text)) {
    throw new PaymentSettingsError(
      'SETTLER_KEY_FILE: the file must contain one private key, 0x and 64 hex digits',
    )
  }
  // Loaded on demand: it would double the start time.
  const { privateKeyToAccount } = await import('viem/accounts')
  try {
    return privateKeyToAccount(`0x${text.slice(2)}`)
  } catch {
    throw new PaymentSettingsError('SETTLER_KEY_FILE: the file contains no valid secp256k1 key')
  }
}

async function readKey(path: string): Promise<string> {
  const file = await open(path).catch((error: unknown) => {
    throw new PaymentSettingsError('SETTLER_KEY_FILE: the file cannot be read', { cause: error })
  })
  try {
    const { mode } = await file.stat()
    if ((mode & OTHERS) === 0) return (await file.readFile('utf8')).trim()
  } finally {
    await file.close()
  }
  throw new PaymentSettingsError('SETTLER_KEY_FILE: other users can read the file: chmod 600 it')
}
