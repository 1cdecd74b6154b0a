import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

export const skillDocuments = snapshotFamily(
  ['listSkills', 'getSkill'],
  ['taxonomy'],
  function* ({ taxonomy }) {
    const { note, skills } = taxonomy
    yield jsonDocument('listSkills', {
      categories: skillCategories,
      count: skills.length,
      note,
      skills,
    })
    for (const skill of skills) {
      yield jsonDocument('getSkill', skill, { params: { slug: skill.slug } })
    }
  },
)
