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
  test('contains after any changes what a new directory would contain', async () => {
    const random = randomFrom(20_261_121)
    const world = new Map<string, number>()
    for (let turn = 0; turn < 30; turn += 1) {
      for (let change = 0; change < 1 + Math.floor(random() * 4); change += 1) {
        const path = `/api/v1/d${Math.floor(random() * 3)}/e${Math.floor(random() * 3)}/r${Math.floor(random() * 3)}`
        if (random() < 0.4) world.delete(path)
        // Few versions: a document is often what it was some generations ago.
        else world.set(path, Math.floor(random() * 3))
      }
      const { steps } = await publish(documentsOf(world))
      const { bodies } = place.read()
      expect([...bodies.keys()].sort()).toEqual([...world.keys(), '/constant'].sort())
      expect(emptyDirectories(join(place.publicDir, 'current'))).toEqual([])
      if (steps.length > 2 && turn > 8) expect(steps.join('\n')).toContain('take generation')
    }
  })

  test('changes only files that differ, and no other generation', async () => {
    const world = new Map(
      Array.from({ length: 40 }, (_, at) => [`/api/v1/rails/${at}`, 0] as const),
    )
    await publishVersions(world, 1, 4)
    const before = [2, 3, 4].map((number) => touches(generation(number)))
    const { steps } = await publishVersion(world, 5)
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

  test('is replaced by a new directory when a name in it or in the current one was changed', async () => {
    const world = new Map([['/api/v1/rails/x402', 0]])
    const intrusions: ((at: string) => void)[] = [
      (at) => writeFileSync(join(at, 'api/v1/rails/planted.json'), '{}'),
      (at) => rmSync(join(at, 'constant.json')),
      (at) => renameSync(join(at, 'api/v1/rails'), join(at, 'api/v1/moved')),
    ]
    for (const [number, intrude] of intrusions.entries()) {
      await publishVersions(world, number * 10, number * 10 + 4)
      const [oldest = ''] = generationNames(place.publicDir)
      intrude(join(place.publicDir, 'generations', oldest))
      const { steps } = await publishVersion(world, number * 10 + 9)
      expect(steps.join('\n')).not.toContain('take generation')
      place.read()
    }
    await publishVersions(world, 100, 104)
    writeFileSync(join(place.publicDir, 'current/api/v1/planted.json'), '{}')
    const { steps } = await publishVersion(world, 105)
    expect(steps.join('\n')).not.toContain('take generation')
    place.read()
  })

  test('is replaced by a new directory after a damaged file was restored', async () => {
    const world = new Map([['/api/v1/rails/x402', 0]])
    await publishVersions(world, 1, 2)
    const file = join(generation(2), 'constant.json')
    const good = readFileSync(file)
    // The file is changed in place, so the one of generation 1, which is the same file, changes as well.
    writeFileSync(file, Buffer.from(good.toString().replace('figures', 'forgery')))
    await expect(publishVersion(world, 3)).rejects.toThrow('cannot be read back')
    writeFileSync(`${file}.restored`, good)
    renameSync(`${file}.restored`, file)
    await publishVersions(world, 3, 8)
  })

  test('is replaced by a new directory after the link was removed', async () => {
    const world = new Map([
      ['/api/v1/rails/x402', 0],
      ['/api/v1/rails/gone', 0],
    ])
    await publishVersions(world, 1, 4)
    rmSync(join(place.publicDir, 'current'))
    world.delete('/api/v1/rails/gone')
    await publishVersions(world, 5, 9)
  })

  test('is replaced by a new directory after another builder continued from an older set', async () => {
    const world = new Map([
      ['/api/v1/rails/x402', 0],
      ['/api/v1/rails/other', 0],
    ])
    await publishVersions(world, 1, 6)
    rmSync(join(place.publicDir, 'current'))
    symlinkSync('generations/00000004', join(place.publicDir, 'current'))
    const own = memory
    memory = emptyMemory()
    world.set('/api/v1/rails/other', 1)
    await publishVersion(world, 4)
    memory = own
    await publishVersions(world, 7, 11)
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
    const { steps } = await publishVersion(world, 6)
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
): Promise<{ readonly steps: readonly string[] }> {
  const [first = ''] = world.keys()
  world.set(first, version)
  return await publish(documentsOf(world), fails)
}

/** Publishes each version and checks each published set. */
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
): Promise<{ readonly steps: readonly string[] }> {
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
  return { steps }
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
