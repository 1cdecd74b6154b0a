import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { oath, tier } from '../../src/contract/schemas/partner.ts'
import { platform } from '../../src/contract/schemas/platform.ts'
import { skill } from '../../src/contract/schemas/skill.ts'
import type { Skill } from '../../src/contract/schemas/skill.ts'
import { treeFingerprint, statFingerprint, readTextIfExists } from '../cache/stat-fingerprint.ts'
import { loadArticles } from './articles.ts'
import { readJsonFile } from './authored-file.ts'
import { loadAuthoredPacts } from './authored-pacts.ts'
import { loadAuthoredRails } from './authored-rails.ts'
import { loadDocs } from './docs.ts'

type Authored = Awaited<ReturnType<typeof loadAuthored>>

const runtimeState = 'run'
const agentSkillNames = ['desk', 'pacts', 'register-and-earn'] as const
const skillsFile = z.object({ note: z.string(), skills: z.array(skill) })
const tiersFile = z.object({ tiers: z.array(tier) })
const platformsFile = z.strictObject({ platforms: z.array(platform) })
const oathsFile = z.object({ oaths: z.array(oath) })

/** @throws Error that names the file and the field */
export async function loadAuthored(dataDir: string) {
  const file = <T>(name: string, schema: z.ZodType<T>) => readJsonFile(join(dataDir, name), schema)
  const taxonomy = await file('skills.json', skillsFile)
  const pacts = await loadAuthoredPacts(join(dataDir, 'pacts'))
  const examples = {
    rail: exampleRail(taxonomy.skills),
    pact: String(pacts.manifests[0]?.pactId ?? 1),
  }
  return {
    rails: await loadAuthoredRails(join(dataDir, 'rails')),
    taxonomy,
    ...(await file('tiers.json', tiersFile)),
    ...(await file('oaths.json', oathsFile)),
    ...(await file('platforms.json', platformsFile)),
    articles: await loadArticles(join(dataDir, 'desk')),
    docs: await loadDocs(join(dataDir, 'docs')),
    pacts,
    agentSkills: await loadAgentSkills(join(dataDir, 'agent-skills'), examples),
    // This file may be missing in an installation.
    changelog: await readTextIfExists(join(dataDir, '..', 'CHANGELOG.md')),
  }
}

/** Returns a function that reads the files again only if one of them has changed. */
export function createAuthored(dataDir: string): () => Promise<Authored> {
  let last: { readonly fingerprint: string; readonly authored: Authored } | null = null
  return async () => {
    const changelog = statFingerprint(join(dataDir, '..', 'CHANGELOG.md'))
    const fingerprint = `${changelog}\n${treeFingerprint(dataDir, [runtimeState])}`
    if (last?.fingerprint !== fingerprint)
      last = { fingerprint, authored: await loadAuthored(dataDir) }
    return last.authored
  }
}

/** A rail of this ledger for samples. */
export function exampleRail(skills: readonly Pick<Skill, 'surface'>[]): string {
  const rails = skills.flatMap(({ surface }) => surface)
  return rails.find((rail) => rail === 'x402') ?? rails[0] ?? 'x402'
}

async function loadAgentSkills(
  dir: string,
  { rail, pact }: { readonly rail: string; readonly pact: string },
): Promise<ReadonlyMap<string, string>> {
  const texts = await Promise.all(
    agentSkillNames.map(async (name) => {
      const text = await readFile(join(dir, name, 'SKILL.md'), 'utf8')
      return [name, text.replaceAll('{RAIL}', rail).replaceAll('{PACT}', pact)] as const
    }),
  )
  return new Map(texts)
}
