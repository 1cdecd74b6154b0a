import { documents, markdown } from '../answers.ts'
import { text } from '../route.ts'
import type { Route } from '../route.ts'

export const agentSkillRoutes = [
  {
    id: 'getPactsSkill',
    method: 'GET',
    path: '/pacts/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'Skill file: reading pacts',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getDeskSkill',
    method: 'GET',
    path: '/desk/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'Skill file: reading the desk and the ledger',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getRegisterSkill',
    method: 'GET',
    path: '/register-and-earn/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'Skill file: registering, submitting receipts and claiming a spot',
    description: 'Markdown instructions for agents, with a worked example of each signed message.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
] as const satisfies readonly Route[]
