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
  /** Replaces `<service>` in every signed message. */
  readonly serviceName: string
  readonly isDemo?: boolean
  readonly siteUrl: string
  readonly reference: () => Reference
  /** The chain that verifies contract wallets of a kind; undefined if there is none. */
  readonly walletChain: (kind: WalletKind) => WalletChain | undefined
  /** Verifies signatures off the event loop. */
  readonly verifyInWorker: CheckSignature
  /** Hex HMAC. Without the key, stored values can be compared but not guessed. */
  readonly keyedHash: KeyedHash
  readonly mail: Mail
  /** Requests to URLs supplied by users. */
  readonly outbound: PinnedFetch
  /** The current signing key of the job exchange, then earlier ones. */
  readonly exchangeKeys: () => ExchangeKeys
  /** Signs answers that state facts of the ledger. */
  readonly answerSigner: () => Signer
  /** Signs promises that a receipt will be in the log. */
  readonly logSigner: NoteSigner
  readonly witnessPolicy: WitnessPolicy
  readonly payments: Payments
  /** Requests an early build, so that public documents show the committed change. */
  readonly requestBuild: () => void
}

export interface ActionDeps extends InstalledDeps {
  readonly outboundLimits: OutboundConcurrency
}
