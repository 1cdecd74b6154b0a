import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'

import type { PublicDocument } from '../../../builder/publish/document.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import type { PublishMemory } from '../../../builder/publish/publish.ts'
import { randomFrom } from '../../support/random.ts'
import { filesBelow, generationNames, jsonDocument, startMs, touches, useWorkspace } from './set.ts'

const filler = 'figures of a rail that pays agents, '.repeat(40)

const place = useWorkspace()
let memory: PublishMemory
let builds: number

beforeEach(() => {
  memory = emptyMemory()
  builds = 0
})

describe('the oldest generation becomes the next one and', () => {
  test('contains what a new directory would contain, after any changes and intrusions', async () => {
    const random = randomFrom(20_261_121)
    const below = (limit: number) => Math.floor(random() * limit)
    const world = new Map([['/api/v1/changed', 0]])
    const current = join(place.publicDir, 'current')
    const oldest = () =>
      join(place.publicDir, 'generations', generationNames(place.publicDir)[0] ?? '')
    /** What somebody else may do between two builds. */
    const intrusions: readonly (() => Promise<void> | void)[] = [
      () => writeFileSync(join(oldest(), 'api/v1/planted.json'), '{}'),
      () => writeFileSync(join(current, 'api/v1/planted.json'), '{}'),
      () => rmSync(join(oldest(), 'constant.json')),
      () => renameSync(join(oldest(), 'api/v1'), join(oldest(), 'moved')),
      () => rmSync(current),
      async () => {
        // Another builder continues from an older set.
        const [, target = ''] = generationNames(place.publicDir)
        rmSync(current)
        symlinkSync(`generations/${target}`, current)
        const own = memory
        memory = emptyMemory()
        await publish(documentsOf(new Map([['/api/v1/other', below(3)]])))
        memory = own
      },
    ]
    let recycled = 0
    for (let build = 0; build < 60; build += 1) {
      for (let change = 0; change < 1 + below(4); change += 1) {
        const path = `/api/v1/d${below(3)}/e${below(3)}/r${below(3)}`
        if (random() < 0.4) world.delete(path)
        // Few versions: a document is often what it was some generations ago.
        else world.set(path, below(3))
      }
      const steps = await publish(documentsOf(world))
      const isRecycled = steps.some((step) => step.startsWith('take generation'))
      if (isRecycled) recycled += 1
      if (build > 0 && build % 8 === 0) expect(isRecycled).toBe(false)
      const { bodies } = place.read()
      expect([...bodies.keys()].sort()).toEqual([...world.keys(), '/constant'].sort())
      expect(emptyDirectories(current)).toEqual([])
      if (build % 8 !== 7) continue
      await intrusions[((build - 7) / 8) % intrusions.length]?.()
      world.set('/api/v1/changed', build)
    }
    expect(recycled).toBeGreaterThan(25)
  })

  test('changes only files that differ, and no other generation', async () => {
    const world = new Map(
      Array.from({ length: 40 }, (_, at) => [`/api/v1/rails/${at}`, 0] as const),
    )
    await publishVersions(world, 1, 4)
    const before = [2, 3, 4].map((number) => touches(generation(number)))
    const steps = await publishVersion(world, 5)
    expect(steps).toContain('take generation 1')
    expect(steps.filter((step) => step.startsWith('link '))).toEqual([])
    expect(generationNames(place.publicDir)).toHaveLength(4)
    expect([2, 3, 4].map((number) => touches(generation(number)))).toEqual(before)
    // Untouched files keep their fingerprints, so the builder does not read them again.
    const read = [...memory.checked.keys()].sort()
    expect(read).toEqual(
      filesBelow(generation(5)).filter((file) => !file.startsWith('snapshot.json')),
    )
  })

  test('is replaced by a new directory after a damaged file was repaired', async () => {
    const world = new Map([['/api/v1/rails/x402', 0]])
    await publishVersions(world, 1, 2)
    const file = join(generation(2), 'constant.json')
    const good = readFileSync(file, 'utf8')
    // The file is changed in place, so the one of generation 1, which is the same file, changes as well.
    writeFileSync(file, good.replace('figures', 'forgery'))
    await publishVersions(world, 3, 8)
  })

  test('loses the compressed forms of a manifest that became small', async () => {
    await publish([jsonDocument('/a', { filler }), jsonDocument('/b', { filler })])
    expect(existsSync(join(place.publicDir, 'current/snapshot.json.br'))).toBe(true)
    for (let version = 1; version <= 5; version += 1) {
      await publish([jsonDocument('/a', { version })])
      place.read()
      expect(existsSync(join(place.publicDir, 'current/snapshot.json.br'))).toBe(false)
    }
  })

  test('leaves the old set unchanged when a step fails, and the next build is complete', async () => {
    const world = new Map(Array.from({ length: 4 }, (_, at) => [`/api/v1/rails/${at}`, 0] as const))
    await publishVersions(world, 1, 5)
    const steps = await publishVersion(world, 6)
    expect(steps.join('\n')).toContain('take generation')
    const kinds = new Set<string>()
    for (const [at, step] of steps.entries()) {
      const kind = step.replace(/ .*/, step.includes('/') ? '' : '$&')
      if (kinds.has(kind)) continue
      kinds.add(kind)
      const before = place.read().manifest.set_sha256
      const version = 10 * (at + 1)
      const broken = publishVersion(world, version, (reached) => reached === at)
      await expect(broken, step).rejects.toThrow('no space left on device')
      const { manifest } = place.read()
      if (step !== 'flush the switch') expect(manifest.set_sha256, step).toBe(before)
      await publishVersions(world, version + 1, version + 4)
      for (const number of generationNames(place.publicDir)) {
        expect(existsSync(join(place.publicDir, 'generations', number, 'snapshot.json'))).toBe(true)
      }
    }
  })

  test('leaves the current one and two before it in place during a build', async () => {
    const world = new Map([['/api/v1/rails/x402', 0]])
    await publishVersions(world, 1, 5)
    const there: string[][] = []
    await publishVersion(world, 6, () => {
      there.push(generationNames(place.publicDir))
      return false
    })
    for (const names of there)
      expect(names).toEqual(expect.arrayContaining(['00000003', '00000004', '00000005']))
  })
})

async function publishVersion(
  world: Map<string, number>,
  version: number,
  fails?: (step: number) => boolean,
): Promise<readonly string[]> {
  const [first = ''] = world.keys()
  world.set(first, version)
  return await publish(documentsOf(world), fails)
}

async function publishVersions(
  world: Map<string, number>,
  first: number,
  last: number,
): Promise<void> {
  for (let version = first; version <= last; version += 1) {
    await publishVersion(world, version)
    place.read()
  }
}

async function publish(
  documents: readonly PublicDocument[],
  fails: (step: number) => boolean = () => false,
): Promise<readonly string[]> {
  const steps: string[] = []
  builds += 1
  await place.publish(documents, {
    memory,
    nowMs: startMs + builds * 1000,
    beforeStep: (step) => {
      if (fails(steps.length)) throw new Error('no space left on device')
      steps.push(step)
    },
  })
  return steps
}

function documentsOf(world: ReadonlyMap<string, number>): PublicDocument[] {
  const changing = [...world].map(([path, version]) => jsonDocument(path, { version, filler }))
  return [...changing, jsonDocument('/constant', { filler })]
}

function generation(number: number): string {
  return join(place.publicDir, 'generations', String(number).padStart(8, '0'))
}

function emptyDirectories(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readdirSync(path).length === 0)
}
