import type { CheckSignature } from '../auth/check.ts'
import type { WalletChain } from '../auth/contract-wallet.ts'
import type { ExchangeKeys } from '../auth/exchange-keys.ts'
/** What every write is given. Types only. */
import type { KeyedHash } from '../auth/keyed-hash.ts'
import type { Clock, Log, Random } from '../core/deps.ts'
import type { WalletKind } from '../core/wallet.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { OutboundConcurrency } from '../limits/concurrency-limits.ts'
import type { Mail } from '../mail/mail.ts'
import type { PinnedFetch } from '../outbound/pinned-fetch.ts'
import type { Payments } from '../payments/settler.ts'
import type { Reference } from './reference.ts'

/** What the installation gives. */
export interface InstalledDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Stands for `<service>` in every signed message. */
  readonly serviceName: string
  /** Pages are marked as those of a demo. */
  readonly isDemo?: boolean
  readonly siteUrl: string
  /** What people wrote under `data/`. */
  readonly reference: () => Reference
  /** The chain on which contract wallets of a kind are asked; undefined where none is set. */
  readonly walletChain: (kind: WalletKind) => WalletChain | undefined
  /** The arithmetic of signatures, off the event loop. */
  readonly verifyInWorker: CheckSignature
  /** Hex of a keyed hash: what is stored can be compared, and not guessed by who lacks the key. */
  readonly keyedHash: KeyedHash
  readonly mail: Mail
  /** Requests to addresses that others gave us. */
  readonly outbound: PinnedFetch
  /** The key that signs the receipts of the job exchange, and those before it. */
  readonly exchangeKeys: () => ExchangeKeys
  /** How what is sold is paid for. */
  readonly payments: Payments
  /** Asks the builder for a build soon: public documents are to show what was committed. */
  readonly requestBuild: () => void
}

export interface ActionDeps extends InstalledDeps {
  readonly outboundLimits: OutboundConcurrency
}
