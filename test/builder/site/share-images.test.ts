import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import sharp from 'sharp'
import { beforeEach, describe, expect, test } from 'vitest'

import { renderBody } from '../../../builder/publish/document.ts'
import { readShareImages, renderShareImages } from '../../../builder/site/share-images.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { fullWorld } from '../../site/worlds.ts'
import { sharedPages, siteOf, textAt } from '../../support/site.ts'
import { railRecord, smallWorld } from '../../support/world.ts'

let dir: string

beforeEach(() => {
  dir = join(tempFolder(), 'share')
})

async function rendered(drawings = [...sharedPages(smallWorld())]) {
  const { pending } = await readShareImages(dir, drawings)
  await renderShareImages(dir, drawings, pending)
  return await readShareImages(dir, drawings)
}

describe('share images', () => {
  test('share images exist for the home page, each rail and each article', async () => {
    const { documents, pending } = await rendered()
    expect(pending).toEqual([])
    expect(documents.map(({ path }) => path)).toEqual([
      '/share/home.png',
      ...['alpha', 'beta', 'delta', 'gamma'].map((rail) => `/share/rails/${rail}.png`),
      ...['first-words', 'second-words'].map((slug) => `/share/desk/${slug}.png`),
    ])
    for (const document of documents) {
      const { format, width, height } = await sharp(renderBody(document, '')).metadata()
      expect([format, width, height]).toEqual(['png', 1200, 630])
    }
  })

  test('a share image is rendered again only when its drawing changed, and the old one stays until then', async () => {
    const before = (await rendered()).documents.map(shown)
    const others = smallWorld().rails.slice(1)
    const rails = [railRecord('alpha', { state: { status: 'dormant' } }), ...others]
    const drawings = [...sharedPages(smallWorld({ rails }))]
    const again = await readShareImages(dir, drawings)
    expect(again.documents.map(shown)).toEqual(before)
    expect(again.pending.map(({ image }) => image)).toEqual([
      '/share/home.png',
      '/share/rails/alpha.png',
    ])
    await renderShareImages(dir, drawings, again.pending)
    const { documents: after, pending } = await readShareImages(dir, drawings)
    expect(pending).toEqual([])
    const changed = after.map(shown).filter(({ bytes }, at) => before[at]?.bytes !== bytes)
    expect(changed.map(({ path }) => path)).toEqual(['/share/home.png', '/share/rails/alpha.png'])
    // A set with the old images may still be published, until the next rendering.
    expect(again.documents.map(shown)).toEqual(before)
    expect(await readdir(dir)).toHaveLength(after.length + 1 + changed.length)
    await renderShareImages(dir, drawings, [])
    expect(await readdir(dir)).toHaveLength(after.length + 1)
  })

  test('all share images are rendered again when their index is damaged', async () => {
    const { documents } = await rendered()
    await writeFile(join(dir, 'index.json'), '{"/share/home.png":"../../etc/passwd"}')
    const { documents: found, pending } = await readShareImages(dir, [...sharedPages(smallWorld())])
    expect(found).toEqual([])
    expect(pending).toHaveLength(documents.length)
  })

  test('share images are referenced by their page once they exist', async () => {
    const world = fullWorld('https://ledger.test')
    const image = '<meta property="og:image" content="https://ledger.test/share/rails/alpha.png" />'
    expect(textAt('/rails/alpha', siteOf(world))).not.toContain('og:image')
    const { documents } = await rendered([...sharedPages(world)])
    const site = siteOf(world, documents)
    expect(textAt('/rails/alpha', site)).toContain(image)
    expect(textAt('/pacts', site)).not.toContain('og:image')
    expect(site.filter(({ path }) => path.startsWith('/share/'))).toEqual(documents)
  })
})

type Documents = Awaited<ReturnType<typeof rendered>>['documents']

function shown(document: Documents[number]) {
  return { path: document.path, bytes: Buffer.from(renderBody(document, '')).toString('base64') }
}
