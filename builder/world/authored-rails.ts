/** Authored facts of a rail in `data/rails/<slug>.json`, with the figures of the last audit. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { applyBlock } from '../../src/contract/schemas/application.ts'
import { count, date, railSlug, share, url, usdc } from '../../src/contract/schemas/common.ts'
import { railCategory, railChain, railStatus } from '../../src/contract/schemas/rail.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { Figures } from '../../src/core/figures.ts'
import { parseUsdc } from '../../src/core/money.ts'
import { decideStatus } from '../../src/core/rules/status.ts'
import { withSiteUrl } from '../../src/core/site-url.ts'
import { readJsonFile } from './authored-file.ts'

const methodologyMinLength = 80

const httpsUrl = url.refine((text) => text.startsWith('https://'), 'must be an https URL')
/** An https URL, or `{SITE_URL}` and a path. */
const pageUrl = z
  .string()
  .max(2048)
  .refine(
    (text) => httpsUrl.safeParse(withSiteUrl(text, 'https://ledger.invalid')).success,
    'must be an https URL',
  )
const text = (max: number) => z.string().trim().min(1).max(max)
/** An address, with a remark in parentheses, or a private source with the reason in parentheses. */
const source = text(300).regex(
  /^(?:https:\/\/\S+(?: \([^)]+\))?|private: .+ \([^)]+\))$/,
  'must be an https URL with an optional remark in parentheses, or "private: …" with the reason in parentheses',
)

/** Figures from an audit by hand, without unknown figures. */
const audit = z.strictObject({
  as_of: date,
  status: railStatus,
  reason: text(600),
  source: z
    .string()
    .refine(
      (all) => all.split('; ').every((one) => source.safeParse(one).success),
      'must be sources, separated by semicolons',
    ),
  figures: z.strictObject({
    tpv_30d_usdc: usdc.optional(),
    tpv_7d_usdc: usdc.optional(),
    unique_creators_30d: count.optional(),
    unique_workers_30d: count.optional(),
    top_worker_share: share.optional(),
    payouts_30d: count.optional(),
  }),
})

const railShape = z.strictObject({
  rail: railSlug,
  display_name: text(120),
  chain: railChain,
  category: railCategory,
  /** A: confirmed, sufficient for figures; B: no money visible; C: reported by third parties; D: no endpoint. */
  evidence_tier: z.enum(['A', 'B', 'C', 'D']),
  entry_cost_usdc: usdc,
  entry_requirements: z.array(text(300)).min(1).max(32).nullable(),
  sample_apply_url: httpsUrl.optional(),
  reference_url: pageUrl,
  apply: applyBlock.optional(),
  methodology: text(7000).min(methodologyMinLength),
  status_basis: z.enum(['payments', 'activity']),
  audit,
  notes: text(4000).optional(),
  differs: text(4000).optional(),
  sources: z.array(source).min(1).max(32),
})

export type AuthoredRail = z.infer<typeof railShape>

export function auditedFigures({ audit: { figures } }: AuthoredRail): Figures {
  const { tpv_30d_usdc: tpv30d, tpv_7d_usdc: tpv7d } = figures
  return {
    ...unknownFigures,
    tpv30dMicroUsdc: tpv30d === undefined ? null : parseUsdc(tpv30d),
    tpv7dMicroUsdc: tpv7d === undefined ? null : parseUsdc(tpv7d),
    uniqueCreators30d: figures.unique_creators_30d ?? null,
    uniqueWorkers30d: figures.unique_workers_30d ?? null,
    topWorkerShare: figures.top_worker_share ?? null,
    activity30d: figures.payouts_30d ?? null,
  }
}

export const authoredRailSchema = railShape.superRefine((rail, check) => {
  const judged = { figures: auditedFigures(rail), measures: null }
  const status = decideStatus(judged, rail.status_basis).status ?? 'pre-traction'
  if (status === rail.audit.status) return
  const message = `is not what the rules say of the audited figures: ${status}`
  check.addIssue({ code: 'custom', path: ['audit', 'status'], message })
})

/** @throws Error that names the file and field */
export async function loadAuthoredRails(dir: string): Promise<readonly AuthoredRail[]> {
  const entries = await readdir(dir)
  const names = entries.filter((name) => name.endsWith('.json')).toSorted()
  const rails = await Promise.all(names.map(async (name) => readAuthoredRail(dir, name)))
  return rails.toSorted((a, b) => (a.rail < b.rail ? -1 : 1))
}

async function readAuthoredRail(dir: string, name: string): Promise<AuthoredRail> {
  const path = join(dir, name)
  const authored = await readJsonFile(path, authoredRailSchema)
  if (name === `${authored.rail}.json`) return authored
  throw new Error(`${path}: rail: is "${authored.rail}", which differs from the file name`)
}
