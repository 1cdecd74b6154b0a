/** The rules of a demo's invented rails, which were polled when the demo was created. */
import { join } from 'node:path'

import { z } from 'zod'

import { defineRail } from '../rails/adapter.ts'
import type { AnyRailAdapter } from '../rails/adapter.ts'
import { readJsonFile } from './authored-file.ts'

export const demoRulesFile = 'demo-rules.json'

const text = z.string().min(1)
const rules = z.array(
  z.strictObject({ rail: text, rule: z.strictObject({ name: text, version: text, text }) }),
)

export async function loadDemoRules(dataDir: string): Promise<readonly AnyRailAdapter[]> {
  const stated = await readJsonFile(join(dataDir, demoRulesFile), rules)
  const read = () => Promise.reject(new Error('a demo reads no source'))
  return stated.map((one) =>
    defineRail({ ...one, read, reduce: () => ({ figures: {}, notes: [], evidence: [] }) }),
  )
}
