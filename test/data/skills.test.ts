import { readdir, readFile } from 'node:fs/promises'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

const CATEGORIES = [
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
]

const taxonomySchema = z.strictObject({
  categories: z.array(z.string()),
  note: z.string(),
  skills: z.array(
    z.strictObject({
      slug: z.string(),
      name: z.string(),
      category: z.string(),
      surface: z.array(z.string()).nonempty(),
      description: z.string(),
    }),
  ),
})

const dataDir = new URL('../../data/', import.meta.url)
const text = await readFile(new URL('skills.json', dataDir), 'utf8')
const { categories, note, skills } = taxonomySchema.parse(JSON.parse(text))

function repeated(values: readonly string[]): string[] {
  return values.filter((value, at) => values.indexOf(value) !== at)
}

describe('data/skills.json', () => {
  test('data/skills.json contains 225 skills in twelve categories, in the specified order', () => {
    expect(skills).toHaveLength(225)
    expect(categories).toEqual(CATEGORIES)
    const order = skills.map((skill) => CATEGORIES.indexOf(skill.category))
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((left, right) => left - right))
  })

  test.each(CATEGORIES)('the category %s has 15 to 25 skills, sorted by slug', (category) => {
    const slugs = skills.filter((skill) => skill.category === category).map(({ slug }) => slug)
    expect(slugs.length).toBeGreaterThanOrEqual(15)
    expect(slugs.length).toBeLessThanOrEqual(25)
    expect(slugs).toEqual(slugs.toSorted())
  })

  test('skills have unique slugs and names', () => {
    expect(skills.filter((skill) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(skill.slug))).toEqual([])
    expect(repeated(skills.map((skill) => skill.slug))).toEqual([])
    expect(repeated(skills.map((skill) => skill.name.toLowerCase()))).toEqual([])
  })

  test('each skill is described in one unique sentence', () => {
    const descriptions = skills.map((skill) => skill.description)
    expect(descriptions.filter((sentence) => !/^[A-Z][^.!?]{58,198}\.$/.test(sentence))).toEqual([])
    const openings = descriptions.map((sentence) =>
      sentence.toLowerCase().split(/\s+/).slice(0, 5).join(' '),
    )
    expect(repeated(openings)).toEqual([])
  })

  test('skills are offered only on listed rails', async () => {
    const files = await readdir(new URL('rails/', dataDir))
    const rails = new Set(files.map((file) => file.replace(/\.json$/, '')))
    const isUnknown = (rail: string): boolean => !rails.has(rail)
    expect(skills.filter(({ surface }) => surface.some(isUnknown))).toEqual([])
  })

  test('the rails of a skill are listed once each, in order', () => {
    for (const { surface } of skills) expect(surface).toEqual([...new Set(surface)].toSorted())
  })

  test('data/skills.json mentions that partners may declare other skills', () => {
    expect(note).toMatch(/^Partners may declare skills outside this list.*stored unchanged.*\.$/)
  })
})
