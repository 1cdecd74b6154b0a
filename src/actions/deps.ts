import type { CheckSignature } from '../auth/check.ts'
import type { WalletChain } from '../auth/contract-wallet.ts'
import type { ExchangeKeys } from '../auth/exchange-keys.ts'
import type { KeyedHash } from '../auth/keyed-hash.ts'
import type { NoteSigner } from '../auth/notes.ts'
import type { Signer } from '../auth/service-keys.ts'
import type { Clock, Log, Random } from '../core/deps.ts'
import type { WitnessPolicy } from '../core/tlog/policy.ts'
import type { WalletKind } from '../core/wallet.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { OutboundConcurrency } from '../limits/concurrency-limits.ts'
import type { Mail } from '../mail/mail.ts'
import type { PinnedFetch } from '../outbound/pinned-fetch.ts'
import type { Payments } from '../payments/settler.ts'
import type { Reference } from './reference.ts'

export interface InstalledDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly site: {
    /** Without a trailing slash. */
    readonly url: string
    /** Replaces `<service>` in every signed message. */
    readonly serviceName: string
    readonly isDemo: boolean
  }
  readonly reference: () => Reference
  readonly signatures: {
    /** The chain that verifies contract wallets of a kind; undefined if there is none. */
    readonly walletChain: (kind: WalletKind) => WalletChain | undefined
    /** Verifies signatures off the event loop. */
    readonly check: CheckSignature
  }
  readonly keys: KeyDeps
  readonly ledgerLog: {
    /** Signs promises that a receipt will be in the log. */
    readonly signer: NoteSigner
    readonly witnesses: WitnessPolicy
  }
  readonly outbound: OutboundDeps
  readonly payments: Payments
  /** Requests an early build, so that public documents show the committed change. */
  readonly requestBuild: () => void
}

export interface ActionDeps extends InstalledDeps {
  readonly outboundLimits: OutboundConcurrency
}

export interface KeyDeps {
  /** Hex HMAC. Without the key, stored values can be compared but not guessed. */
  readonly hash: KeyedHash
  /** The current signing key of the job exchange, then earlier ones. */
  readonly exchange: () => ExchangeKeys
  /** Signs answers that state facts of the ledger. */
  readonly answers: () => Signer
}

export interface OutboundDeps {
  /** Requests to URLs supplied by users. */
  readonly send: PinnedFetch
  readonly mail: Mail
}
