import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  generationNames,
  readSet,
  startMs,
  versionsOf,
  workspace,
  worldOf,
} from '../builder/publish/set.ts'
import type { Workspace } from '../builder/publish/set.ts'
import { compile } from '../support/compile.ts'
import type { Compiled } from '../support/compile.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts and kills processes')

const KILLS = 50
/** Each kill is a process of its own, and a machine may be busy. */
const TIMEOUT_MS = 300_000

let place: Workspace
const childFile = 'test/builder/publish/crash-child.ts'
let child: Compiled

beforeAll(async () => {
  place = await workspace()
  child = compile(childFile)
})
afterAll(() => {
  place.remove()
  child.remove()
})

test(
  'kill -9 before any step of a build leaves a whole set, and the next build goes on from it',
  async () => {
    await publishHere(1)
    await publishHere(2)
    await publishHere(3)
    const steps = await publishHere(4)
    const killed = new Set<string>()

    for (let kill = 0; kill < KILLS; kill += 1) {
      const version = kill + 5
      const before = readlinkSync(join(place.publicDir, 'current'))
      // Every step that comes once per build is hit, and the many writes and links in between evenly.
      const at = kill < 10 ? steps.length - 1 - kill : Math.floor((kill - 10) * (steps.length / 40))
      expect(await runChild(version, at)).toBe('SIGKILL')
      killed.add(steps[at]?.replace(/[ ].*\//, ' ') ?? '')

      const [seen, ...others] = versionsOf(readSet(place.publicDir, place.keys.publicKeys))
      expect(others).toEqual([])
      const switched = readlinkSync(join(place.publicDir, 'current')) !== before
      expect(seen).toBe(switched ? version : version - 1)

      await publishHere(version)
      expect(versionsOf(readSet(place.publicDir, place.keys.publicKeys))).toEqual([version])
      expect(readdirSync(place.publicDir).sort()).toEqual(['current', 'generations'])
      expect(generationNames(place.publicDir)).toHaveLength(4)
    }
    for (const step of ['switch', 'flush the switch', 'make the link', 'name the generation']) {
      expect(killed).toContain(step)
    }
  },
  TIMEOUT_MS,
)

test(
  'kill -9 during the very first build leaves nothing, or the whole set',
  async () => {
    const first = await workspace()
    const steps: string[] = []
    await first.publish(worldOf(1), { beforeStep: (step) => steps.push(step) })
    for (const [at, step] of steps.entries()) {
      if (at % 10 !== 0 && at < steps.length - 4) continue
      rmSync(first.publicDir, { recursive: true })
      expect(await runChild(1, at, first)).toBe('SIGKILL')
      const published = readdirSync(first.publicDir).includes('current')
      expect(published).toBe(step === 'flush the switch')
      await first.publish(worldOf(1), { nowMs: startMs + 5000 })
      expect(versionsOf(readSet(first.publicDir, first.keys.publicKeys))).toEqual([1])
    }
    first.remove()
  },
  TIMEOUT_MS,
)

test(
  'builders in several processes, after one was killed, publish one after the other or not at all',
  async () => {
    const shared = await workspace()
    await runChild(1, 20, shared)
    const never = 1_000_000
    const versions = [2, 3, 4, 5]
    await Promise.all(versions.map(async (version) => runChild(version, never, shared, 'ignore')))
    const [seen, ...others] = versionsOf(readSet(shared.publicDir, shared.keys.publicKeys))
    expect(versions).toContain(seen)
    expect(others).toEqual([])
    expect(readdirSync(shared.publicDir).sort()).toEqual(['current', 'generations'])
    shared.remove()
  },
  TIMEOUT_MS,
)

async function publishHere(version: number): Promise<string[]> {
  const steps: string[] = []
  const nowMs = startMs + version * 1000
  await place.publish(worldOf(version), { nowMs, beforeStep: (step) => steps.push(step) })
  return steps
}

async function runChild(
  version: number,
  dieAtStep: number,
  at = place,
  stdio: 'inherit' | 'ignore' = 'inherit',
): Promise<string | null> {
  const args = [
    child.scriptOf(childFile),
    at.publicDir,
    at.keysDir,
    String(version),
    String(dieAtStep),
  ]
  const running = spawn(process.execPath, args, { stdio })
  await once(running, 'exit')
  return running.signalCode
}
