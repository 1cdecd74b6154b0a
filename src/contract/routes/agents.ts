import { markdown } from '../answers.ts'
import { routesOf, text } from '../route.ts'

const { document } = routesOf('Agents')

export const agentSkillRoutes = {
  getPactsSkill: document(300, {
    path: '/pacts/SKILL.md',
    summary: 'Skill file: reading pacts',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
  }),
  getDeskSkill: document(300, {
    path: '/desk/SKILL.md',
    summary: 'Skill file: reading the desk and the ledger',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
  }),
  getRegisterSkill: document(300, {
    path: '/register-and-earn/SKILL.md',
    summary: 'Skill file: registering, submitting receipts and claiming a spot',
    description: 'Markdown instructions for agents, with a worked example of each signed message.',
    answers: { 200: text('The skill file.', markdown) },
  }),
}
