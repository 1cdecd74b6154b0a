import type { z } from 'zod'

import type { ExportList } from '../../src/contract/schemas/export.ts'
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { oathList, tierList } from '../../src/contract/schemas/partner.ts'
import type { ListedPlatform } from '../../src/contract/schemas/platform.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import type { Backfill } from '../../src/core/backfill.ts'
import type { EvidencePointer, Figures } from '../../src/core/figures.ts'
import type { RailState } from '../../src/core/rail-poll.ts'
import type { RailStatus } from '../../src/core/rules/status.ts'
import type { RunRecord } from '../../src/db/runs.ts'
import type { ArticleSource } from './articles.ts'
import type { AuthoredRail } from './authored-rails.ts'
import type { Community } from './community.ts'
import type { DocsSource } from './docs.ts'
import type { Disputes, Exchange } from './lists.ts'
import type { PactsWorld } from './pacts.ts'
import type { ReceiptRun } from './receipt-run.ts'

export interface RailRecord {
  readonly authored: AuthoredRail
  readonly state: RailState
  readonly rule: { readonly name: string; readonly version: string; readonly text: string } | null
  readonly evidence: readonly EvidencePointer[]
  /** Progress of a long read; null once it is complete. */
  readonly backfill: Backfill | null
}

/** Times in Unix milliseconds. */
export interface PollRecord {
  readonly polledAtMs: number
  readonly durationMs: number
  readonly outcome: 'ok' | 'failed'
  readonly error: string | null
  readonly figures: Figures | null
  readonly status: RailStatus
  readonly rule: string
  /** SHA-256 of its evidence; null for old polls without evidence. */
  readonly bundle?: string | null
}

export interface LedgerEvent {
  readonly seq: number
  readonly kind: 'flag_opened' | 'flag_closed' | 'rail_transition'
  readonly rail: string | null
  readonly title: string
  readonly data: Readonly<Record<string, unknown>>
  readonly createdAtMs: number
}

/** Everything that documents depend on at one time: the same world gives the same bytes. */
export interface World {
  readonly nowMs: number
  readonly site: {
    readonly url: string
    readonly serviceName: string
    readonly version: string
    readonly historyUrl: string | null
    readonly payments: {
      readonly settlement: 'off' | 'local' | 'facilitator'
      readonly receiver: string | null
    }
  }
  readonly pollEveryMs: number
  /** By slug. */
  readonly rails: readonly RailRecord[]
  /** By rail slug, newest first. */
  readonly history: ReadonlyMap<string, readonly PollRecord[]>
  readonly openFlags: readonly Flag[]
  /** The most recently closed, newest first. */
  readonly closedFlags: readonly Flag[]
  readonly events: readonly LedgerEvent[]
  readonly taxonomy: { readonly note: string; readonly skills: readonly Skill[] }
  readonly tiers: z.infer<typeof tierList>['tiers']
  readonly oaths: z.infer<typeof oathList>['oaths']
  readonly platforms: readonly ListedPlatform[]
  /** The newest files with all public data; null before the first. */
  readonly exported: ExportList | null
  readonly articles: readonly ArticleSource[]
  readonly docs: readonly DocsSource[]
  /** Number of views in the last 24 whole hours, by article slug. */
  readonly views24h: ReadonlyMap<string, number>
  /** Null when `CHANGELOG.md` is not installed. */
  readonly changelog: string | null
  readonly runs: readonly RunRecord[]
  readonly receiptRun: ReceiptRun | null
  /** Texts with placeholders, by name. */
  readonly agentSkills: ReadonlyMap<string, string>
  readonly signingKeys: SigningKeys
  readonly community: Community
  readonly exchange: Exchange
  readonly pacts: PactsWorld
  readonly disputes: Disputes
}
