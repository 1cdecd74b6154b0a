import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

export const skillDocuments = snapshotFamily(
  ['taxonomy', 'rails'],
  function* ({ taxonomy: { note, skills: all }, rails }) {
    const statuses = new Map(rails.map(({ authored, state }) => [authored.rail, state.status]))
    const skills = all.map((skill) => {
      const isDormant = (rail: string) => statuses.get(rail) === 'dormant'
      const onlyDormant = skill.surface.length > 0 && skill.surface.every(isDormant)
      return onlyDormant ? { ...skill, only_dormant: true } : skill
    })
    const { length: count } = skills
    yield jsonDocument('listSkills', { categories: skillCategories, count, note, skills })
    for (const skill of skills) {
      yield jsonDocument('getSkill', skill, { params: { slug: skill.slug } })
    }
  },
)
