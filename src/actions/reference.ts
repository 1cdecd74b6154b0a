import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import { applyBlock } from '../contract/schemas/application.ts'
import { railSlug } from '../contract/schemas/common.ts'
import { oath, tier } from '../contract/schemas/partner.ts'
import { platform } from '../contract/schemas/platform.ts'
import { skill } from '../contract/schemas/skill.ts'
import { similar } from '../core/similar.ts'

const rail = z.object({
  rail: railSlug,
  display_name: z.string(),
  chain: z.string(),
  sample_apply_url: z.string().optional(),
  reference_url: z.string(),
  entry_requirements: z.array(z.string()).nullish(),
  apply: applyBlock.optional(),
  apply_manual_reason: z.string().optional(),
})
export type ReferenceRail = z.infer<typeof rail>
const skillsFile = z.object({ skills: z.array(skill) })
const hasPrice = (entry: z.infer<typeof tier>) =>
  (entry.tier === 'free') === (entry.price_usdc_month === 0)
const tiersFile = z.object({
  tiers: z.array(tier.refine(hasPrice, 'only the free tier costs nothing')),
})
const oathsFile = z.object({ oaths: z.array(oath) })
const platformsFile = z.strictObject({ platforms: z.array(platform) })

export type OathKind = z.infer<typeof oath>['kind']

export interface Reference {
  readonly rails: ReadonlyMap<string, ReferenceRail>
  readonly skills: ReadonlySet<string>
  readonly tiers: ReadonlyMap<string, z.infer<typeof tier>>
  readonly oaths: ReadonlyMap<OathKind, z.infer<typeof oath>>
  readonly platforms: ReadonlyMap<string, z.infer<typeof platform>>
}

export function referencePaths(dataDir: string): readonly string[] {
  return ['rails', 'skills.json', 'tiers.json', 'oaths.json', 'platforms.json'].map((name) =>
    join(dataDir, name),
  )
}

/** @throws Error with the file and the field */
export async function loadReference(dataDir: string): Promise<Reference> {
  const [rails, { skills }, { tiers }, { oaths }, { platforms }] = await Promise.all([
    loadRails(join(dataDir, 'rails')),
    readJson(join(dataDir, 'skills.json'), skillsFile),
    readJson(join(dataDir, 'tiers.json'), tiersFile),
    readJson(join(dataDir, 'oaths.json'), oathsFile),
    readJson(join(dataDir, 'platforms.json'), platformsFile),
  ])
  const [tierNames, oathKinds] = [tiers.map((one) => one.tier), oaths.map(({ kind }) => kind)]
  requireAll(join(dataDir, 'tiers.json'), tier.shape.tier.options, tierNames)
  requireAll(join(dataDir, 'oaths.json'), oath.shape.kind.options, oathKinds)
  return {
    rails: new Map(rails.map((entry) => [entry.rail, entry])),
    skills: new Set(skills.map(({ slug }) => slug)),
    tiers: new Map(tiers.map((entry) => [entry.tier, entry])),
    // Ascending, so that the newest version wins.
    oaths: new Map(
      oaths.toSorted((a, b) => a.version - b.version).map((entry) => [entry.kind, entry]),
    ),
    platforms: new Map(platforms.map((entry) => [entry.platform, entry])),
  }
}

/** @throws ApiError `refused` for a rail that the ledger does not list */
export function requireRail({ rails }: Reference, name: string) {
  const found = rails.get(name)
  if (found === undefined) throw new ApiError('refused', unknownName('rail', name, rails.keys()))
  return found
}

const lists = { rail: 'listRails', skill: 'listSkills', platform: 'listPlatforms' } as const

/** Error text with the known names that resemble the unknown one, and the list of all. */
export function unknownName(
  kind: keyof typeof lists,
  sent: string,
  known: Iterable<string>,
): string {
  const near = similar([...known], sent)
  const hint = near.length === 0 ? '' : ` (similar: ${near.join(', ')})`
  return `Unknown ${kind} "${sent}"${hint}; GET ${pathOf(lists[kind], {})} lists all`
}

function requireAll(path: string, wanted: readonly string[], found: readonly string[]): void {
  const missing = wanted.filter((name) => !found.includes(name))
  if (missing.length > 0) throw new Error(`${path}: ${missing.join(', ')} is missing`)
}

async function loadRails(dir: string): Promise<readonly z.infer<typeof rail>[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json')).sort()
  return await Promise.all(names.map((name) => readJson(join(dir, name), rail)))
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(jsonOf(path, await readFile(path, 'utf8')))
  if (parsed.success) return parsed.data
  throw new Error(`${path}: ${z.prettifyError(parsed.error)}`)
}

function jsonOf(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Without the parser's message, which quotes the file.
    throw new Error(`${path}: not valid JSON`)
  }
}
