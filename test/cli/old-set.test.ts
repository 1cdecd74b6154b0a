import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { documentsOf } from '../../builder/documents/index.ts'
import { hourMs, minuteMs } from '../../src/core/time.ts'
import { runCommand } from '../support/command-line.ts'
import { handClock, publicDir } from '../support/http-service.ts'
import type { PublicDir } from '../support/http-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

let published: PublicDir

beforeAll(async () => {
  published = await publicDir()
  await published.publish([...documentsOf(smallWorld())], worldNowMs)
})
afterAll(() => published.remove())

const verify = (nowMs: number, ...options: string[]) =>
  runCommand(
    ['snapshot', 'verify', '--dir', join(published.dir, 'current'), ...options],
    {},
    { clock: handClock(nowMs) },
  )

test('snapshot verify --max-age refuses an old set with a valid signature', async () => {
  const tomorrow = worldNowMs + 24 * hourMs
  expect((await verify(tomorrow)).code).toBe(0)
  const old = await verify(tomorrow, '--max-age', '60')
  expect(old.code).toBe(1)
  expect(old.out).toContain('computed 1440 minutes ago')
  expect((await verify(worldNowMs + 59 * minuteMs, '--max-age', '60')).code).toBe(0)
  expect((await verify(tomorrow, '--max-age', 'soon')).code).toBe(2)
})
