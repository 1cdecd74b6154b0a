/** Links the files of the current set by path, so that a plain web server finds them. The links are never read back. */
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { CURRENT_LINK, MANIFEST_FILE } from '../../../src/core/documents.ts'
import type { Manifest } from '../../../src/core/documents.ts'
import { isErrno } from '../../../src/core/errno.ts'
import { syncFile } from '../../../src/files/durable.ts'
import { inSlices, makeDirectories, unlinkIfExists } from './files.ts'
import { flushAll } from './flush.ts'
import { filesOfEntry } from './store.ts'
import type { SetStore, StoredFile } from './store.ts'

const VIEWS_DIR = 'views'
const OLD = 'old-'
/** The compressed forms are missing if they are not smaller. */
const MANIFEST_FILES = ['', '.sig', '.br', '.gz'].map((suffix) => `${MANIFEST_FILE}${suffix}`)
const LINK_REFUSALS = ['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

export interface DirectoryDeps {
  readonly publicDir: string
  readonly fence: number
  /** @throws LeaseLostError */
  readonly check: () => Promise<void>
  readonly beforeStep?: (step: string) => void
}

interface View {
  /** Relative to the public directory. */
  readonly path: string
  /** The target of each file; null if the directory may contain anything. */
  links: Map<string, Link> | null
}

/** Compared by identity: a file that was written again has another object (`filesOfEntry`). */
type Link = Pick<StoredFile, 'key'>

/**
 * Two directories alternate, so that a running request still finds its file. They are in a directory of the lease, which
 * the next leader renames, so that a paused builder cannot switch `current` back.
 */
export function createViews(deps: DirectoryDeps): SetStore['show'] {
  const { publicDir, fence, check, beforeStep: step } = deps
  const own = `${VIEWS_DIR}/${fence}`
  const views: readonly [View, View] = [
    { path: `${own}/a`, links: null },
    { path: `${own}/b`, links: null },
  ]
  const at = (path: string) => join(publicDir, path)
  let shown = { manifestSha256: '', path: '' }
  let isBegun = false

  async function begin(): Promise<void> {
    const changed = new Set<string>()
    makeDirectories(at(own), changed)
    for (const directory of changed) await syncFile(directory)
    // Any later leader renames the directory.
    await check()
    isBegun = true
  }

  async function switchTo(path: string): Promise<void> {
    const next = at(`${own}/next`)
    await rm(next, { force: true })
    step?.('make the link')
    // Relative to its later place, so that the directory can be moved or mounted elsewhere.
    await symlink(path, next)
    step?.('switch')
    await rename(next, at(CURRENT_LINK))
    step?.('flush the switch')
    await syncFile(publicDir)
  }

  /** Renamed directories are removed the next time, since requests may still read them. */
  async function retireEarlier(): Promise<void> {
    const names = readdirSync(at(VIEWS_DIR))
    const earlier = names.filter((name) => Number(name.replace(OLD, '')) < fence)
    for (const name of earlier.filter((one) => one.startsWith(OLD))) {
      step?.(`remove ${name}`)
      await rm(at(`${VIEWS_DIR}/${name}`), { recursive: true, force: true })
    }
    for (const name of earlier.filter((one) => !one.startsWith(OLD))) {
      step?.(`retire ${name}`)
      await rename(at(`${VIEWS_DIR}/${name}`), at(`${VIEWS_DIR}/${OLD}${name}`))
    }
  }

  async function fill(view: View, wanted: ReadonlyMap<string, Link>): Promise<void> {
    const root = at(view.path)
    const changed = new Set<string>()
    const links = existsSync(root) ? view.links : null
    // Unknown until all links are made.
    view.links = null
    if (links === null) {
      await rm(root, { recursive: true, force: true })
      mkdirSync(root)
      changed.add(root).add(dirname(root))
    }
    const made = links ?? new Map<string, Link>()
    const surplus = [...made.keys()].filter((file) => wanted.get(file) !== made.get(file))
    await inSlices(surplus, (file) => {
      step?.(`unlink ${file}`)
      unlinkIfExists(`${root}/${file}`)
      changed.add(dirname(`${root}/${file}`))
      made.delete(file)
    })
    const missing = [...wanted].filter(([file]) => !made.has(file))
    const copies: string[] = []
    await inSlices(missing, ([file, link]) => {
      const path = `${root}/${file}`
      makeDirectories(dirname(path), changed, root)
      step?.(`link ${file}`)
      changed.add(dirname(path))
      const outcome = linkOrCopy(at(link.key), path)
      if (outcome === 'copied') copies.push(path)
      if (outcome !== 'missing') made.set(file, link)
    })
    await flushAll(root, copies, [...changed])
    view.links = made
  }

  async function show(location: string, manifest: Manifest): Promise<string> {
    // The directory may have been removed.
    if (!isBegun || !existsSync(at(own))) await begin()
    const target = linkTarget(at(CURRENT_LINK))
    const view = views.find(({ path }) => path !== target) ?? views[0]
    await fill(view, linksOf(location, manifest))
    await switchTo(view.path)
    await retireEarlier()
    // An earlier leader may have switched once more before its directory was renamed.
    if (linkTarget(at(CURRENT_LINK)) !== view.path) await switchTo(view.path)
    return view.path
  }

  return async ({ location, manifestSha256 }, manifest, { anew }) => {
    if (anew) for (const view of views) view.links = null
    const isShown = linkTarget(at(CURRENT_LINK)) === shown.path
    if (isShown && !anew && shown.manifestSha256 === manifestSha256) return
    shown = { manifestSha256, path: await show(location, manifest) }
  }
}

function linksOf(location: string, manifest: Manifest): ReadonlyMap<string, Link> {
  const links = new Map<string, Link>()
  for (const entry of manifest.documents) {
    for (const stored of filesOfEntry(entry)) links.set(stored.file, stored)
  }
  for (const file of MANIFEST_FILES) {
    links.set(file, { key: `${location}/${file}` })
  }
  return links
}

function linkTarget(link: string): string | null {
  try {
    return readlinkSync(link)
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'EINVAL')) return null
    throw error
  }
}

/** The next publication writes missing bodies again. */
function linkOrCopy(file: string, path: string): 'linked' | 'copied' | 'missing' {
  try {
    linkSync(file, path)
    return 'linked'
  } catch (error) {
    if (isErrno(error, 'ENOENT') && !existsSync(file)) return 'missing'
    if (!LINK_REFUSALS.some((code) => isErrno(error, code))) throw error
    copyFileSync(file, path)
    return 'copied'
  }
}
