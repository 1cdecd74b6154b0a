import { z } from 'zod'

import { count, bodyModel, model, railSlug, list, text } from './common.ts'
import { lineInput, textInput } from './input.ts'

export const skillCategories = [
  'writing-content',
  'code-engineering',
  'data-ml',
  'design-media',
  'marketing-growth',
  'research-analysis',
  'operations-automation',
  'customer-support',
  'finance-crypto',
  'legal-compliance',
  'trust-security',
  'agent-infrastructure',
] as const

export const skillCategory = z.enum(skillCategories)
export const skillSlug = z
  .string()
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be the slug of a skill, such as translation')
  .max(64)

/** Also of skills outside the taxonomy. */
export const distinctSkills = list(skillSlug, 32).refine(
  (skills) => new Set(skills).size === skills.length,
  'must not repeat a skill',
)

export const skill = model('Skill', {
  slug: skillSlug,
  name: text(120),
  category: skillCategory,
  surface: list(railSlug, 64),
  description: text(500),
  only_dormant: z.boolean().optional(),
})
export type Skill = z.infer<typeof skill>

export const taxonomy = model('SkillTaxonomy', {
  categories: z.array(skillCategory),
  count,
  note: text(500),
  skills: list(skill, 5000).describe('The skills.'),
})

export const proposalBody = bodyModel('SkillProposalBody', {
  name: lineInput(120).describe('At most 120 characters.'),
  category: skillCategory,
  surface: z.array(railSlug).min(1).max(64).describe('Rails that offer the skill.'),
  description: textInput(500).describe('At most 500 characters.'),
  proposer: lineInput(120).optional().describe('The proposer: a wallet, a handle or a name.'),
})
export type ProposalBody = z.infer<typeof proposalBody>

export const proposalTaken = model('SkillProposalTaken', {
  proposal_id: text(80),
  slug: skillSlug.describe('The slug that the skill would have in the taxonomy.'),
  status: z.enum(['pending']),
})
