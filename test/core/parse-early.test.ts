import { expect, test } from 'vitest'
import { z } from 'zod'

import { beginningOf, parseEarly } from '../../src/core/parse-early.ts'

test('parseEarly reports one issue for a list of wrong elements', () => {
  const shape = z.object({ list: z.array(z.object({ a: z.string(), b: z.number() })) })
  const wrong = { list: Array.from({ length: 1000 }, () => ({})) }
  const parsed = parseEarly(shape, wrong)
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['list', 0, 'a']])
  expect(parseEarly(shape, { list: [{ a: '', b: 1 }] }).data).toEqual({ list: [{ a: '', b: 1 }] })
})

test('beginningOf cuts text at a space', () => {
  expect(beginningOf('a short reason')).toBe('a short reason')
  expect(beginningOf(`why https://${'k'.repeat(10_000)}`)).toBe('why ')
  expect(beginningOf('a'.repeat(10_000))).toBe('')
})
