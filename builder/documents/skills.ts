import { skillCategories } from '../../src/contract/schemas/skill.ts'
import { jsonDocument } from './document.ts'
import type { SnapshotFamily } from './document.ts'

/** `/skills` and one document per skill. */
export const skillDocuments: SnapshotFamily = {
  routes: ['listSkills', 'getSkill'],
  *build({ taxonomy }) {
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
}
