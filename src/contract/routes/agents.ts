import { documents, markdown } from '../answers.ts'
import { text } from '../route.ts'
import type { Route } from '../route.ts'

/** Skill files that agents read. */
export const agentSkillRoutes = [
  {
    id: 'getPactsSkill',
    method: 'GET',
    path: '/pacts/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent reads pacts',
    description: 'An agent skill file.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getDeskSkill',
    method: 'GET',
    path: '/desk/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent reads the desk and the ledger',
    description: 'An agent skill file.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
  {
    id: 'getRegisterSkill',
    method: 'GET',
    path: '/register-and-earn/SKILL.md',
    tag: 'Agents',
    access: 'public',
    summary: 'How an agent registers, sends in receipts and claims its spot',
    description: 'An agent skill file, with a worked example of what is signed.',
    answers: { 200: text('The skill file.', markdown) },
    serving: documents(300),
  },
] as const satisfies readonly Route[]
