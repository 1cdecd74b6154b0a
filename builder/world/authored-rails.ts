/** Authored facts of a rail in `data/rails/<slug>.json`, with the figures of the last audit. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { applyBlock } from '../../src/contract/schemas/application.ts'
import { date, railSlug, url, usdc } from '../../src/contract/schemas/common.ts'
import {
  auditClaim,
  auditFigures,
  railCategory,
  railChain,
  railStatus,
} from '../../src/contract/schemas/rail.ts'
import { auditedFigures, monthDays } from '../../src/core/rules/audited.ts'
import { decideStatus } from '../../src/core/rules/status.ts'
import { withSiteUrl } from '../../src/core/site-url.ts'
import { daysBetween } from '../../src/core/time.ts'
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

/** Figures and claims of others. A figure that is not listed is unknown. */
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
  figures: z.strictObject(auditFigures.shape),
  claims: z.array(z.strictObject(auditClaim.shape)).min(1).max(50).optional(),
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
  /** What its API requires, if it takes applications only from accounts or wallets of workers. */
  apply_manual_reason: text(500).optional(),
  methodology: text(7000).min(methodologyMinLength),
  status_basis: z.enum(['payments', 'activity']),
  audit,
  notes: text(4000).optional(),
  differs: text(4000).optional(),
  sources: z.array(source).min(1).max(32),
})

export type AuthoredRail = z.infer<typeof railShape>

interface AuditedFigure {
  readonly value: number
  readonly from: string
  readonly to: string
  readonly source: string
}

/** The rules use 28 to 30 days. Five creators of a shorter time are at least five of 30 days. */
function isLongEnough(name: string, figure: AuditedFigure): boolean {
  const days = daysBetween(figure.from, figure.to)
  const isBound = name === 'unique_creators_30d' && figure.value >= 5
  return days <= 30 && days >= (isBound ? 1 : monthDays)
}

const isCitable = ({ source }: Pick<AuditedFigure, 'source'>) => source.startsWith('https://')

export const authoredRailSchema = railShape.superRefine((rail, check) => {
  const { as_of: asOf, figures, claims = [] } = rail.audit
  const refuse = (path: (string | number)[], message: string) => {
    check.addIssue({ code: 'custom', path: ['audit', ...path], message })
  }
  const taken = Object.entries<AuditedFigure | undefined>(figures).flatMap(([name, figure]) =>
    figure === undefined ? [] : [[name, figure] as const],
  )
  for (const [name, figure] of taken) {
    if (!isLongEnough(name, figure)) refuse(['figures', name], 'must cover 28 to 30 days')
    if (!isCitable(figure)) refuse(['figures', name, 'source'], 'must be an https URL')
  }
  const lastDay =
    taken
      .map(([, { to }]) => to)
      .toSorted()
      .at(-1) ?? asOf
  if (lastDay !== asOf) refuse(['as_of'], `is not the last day of the figures: ${lastDay}`)
  for (const [at, claim] of claims.entries()) {
    const { from, to } = claim
    if (from !== null && from > to) refuse(['claims', at, 'from'], 'must not be after `to`')
    if (!isCitable(claim)) refuse(['claims', at, 'source'], 'must be an https URL')
  }
  const judged = { figures: auditedFigures(rail.audit), measures: null }
  const status = decideStatus(judged, rail.status_basis).status ?? 'pre-traction'
  if (status === rail.audit.status) return
  const message = `is not what the rules say of the audited figures: ${status}`
  refuse(['status'], message)
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
