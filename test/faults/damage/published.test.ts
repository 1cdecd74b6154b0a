/**
 * Truncated or changed published files, and a damaged archive: the service serves all documents that are intact, or the
 * last set with an intact manifest, also after a start; the service and the tools report the damage, and the next build
 * publishes a whole set.
 */
import { hash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodyKey, filesNamedIn } from '../../../src/core/documents.ts'
import { installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import {
  copyOf,
  healthOf,
  newLedger,
  problemsOfSet,
  servedSet,
  stop,
  useProgram,
} from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { run } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts the compiled program')

const program = useProgram(installBoardProgram)
let sound: Ledger
let ledger: Ledger
/** The hash of the set before the one that is current. */
let olderSha256 = ''

const shaOfCurrent = () => sound.manifest().set_sha256

beforeAll(async () => {
  sound = newLedger(program, { POLL: 'off' })
  expect(await sound.builder(['--once']).ended).toBe(0)
  olderSha256 = shaOfCurrent()
  const { service, url } = await sound.start({ BUILDER: 'off' })
  await createClients(2).post(url, 5)
  await stop(service)
  expect(await sound.builder(['--once']).ended).toBe(0)
  expect(shaOfCurrent()).not.toBe(olderSha256)
})
afterAll(() => {
  sound.remove()
})
beforeEach(() => {
  ledger = copyOf(program, sound)
  return () => ledger.remove()
})

const served = z.object({
  documents: z.array(z.object({ path: z.string(), sha256: z.string() })),
})
/** Documents must have the bytes and the tag of the served manifest. */
async function expectServedWhole(url: string): Promise<void> {
  const { documents } = served.parse(await (await fetch(`${url}/snapshot.json`)).json())
  for (const path of ['/api/v1/rails', '/api/v1/stats/live', '/llms.txt', '/']) {
    const answer = await fetch(url + path, { headers: { 'Accept-Encoding': 'identity' } })
    const sha256 = hash('sha256', Buffer.from(await answer.arrayBuffer()))
    expect(documents).toContainEqual(expect.objectContaining({ path, sha256 }))
    expect(answer.headers.get('etag')).toBe(`"${sha256}"`)
  }
}

const verify = () =>
  run(
    program.scriptOf('scripts/cli/main.ts'),
    ['snapshot', 'verify', '--dir', join(ledger.publicDir, 'current')],
    ledger.env,
  )
/** In the store, from which the service reads. */
const inSet = (file: string): string => {
  const { documents } = ledger.manifest()
  const body = [...filesNamedIn({ documents })].find((named) => named.file === file)
  return body === undefined ? inLocation(file) : join(ledger.publicDir, bodyKey(body))
}
const locations = () => readdirSync(join(ledger.publicDir, 'g')).toSorted(byVersion)
const versionOf = (location: string) => Number(location.split('-')[1])
const byVersion = (left: string, right: string) => versionOf(left) - versionOf(right)
const inLocation = (file: string) => join(ledger.publicDir, 'g', locations().at(-1) ?? '', file)

function change(path: string): void {
  const bytes = readFileSync(path)
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path, bytes)
}
const remove = (path: string): void => rmSync(path, { recursive: true })
const cut = (path: string): void => truncateSync(path, Math.floor(readFileSync(path).length / 2))

/** Builds a whole set. Returns what the builder said. */
async function rebuilt(): Promise<string> {
  const builder = ledger.builder(['--once'])
  expect(await builder.ended, builder.output()).toBe(0)
  expect(problemsOfSet(ledger)).toEqual([])
  expect((await servedSet(ledger)).state().problem).toBeNull()
  const verifying = verify()
  expect(await verifying.ended, verifying.output()).toBe(0)
  return builder.output()
}

const rails = 'api/v1/rails.json'
const wrongHash = /^\/api\/v1\/rails does not match its hash$/

/** Name, file, damage, and the problem that `/health` reports. */
const documentDamages = [
  ['with a truncated document', rails, cut, wrongHash],
  ['with a changed bit in a document', rails, change, wrongHash],
  ['without a document', rails, remove, /^\/api\/v1\/rails cannot be read$/],
  ['with a changed compressed document', `${rails}.br`, change, wrongHash],
] as const
const unreadable = 'the last manifest is missing or damaged'
/** The same, and what the next builder says. */
const damages = [
  ['with a truncated manifest', 'snapshot.json', cut, /^the manifest is not JSON$/, unreadable],
  ['with a changed bit in the manifest', 'snapshot.json', change, /manifest|hash/, unreadable],
  [
    'with a truncated signature',
    'snapshot.json.sig',
    cut,
    /^the signature of the set is malformed$/,
    'signing all documents again',
  ],
] as const

describe('a published set', () => {
  test.for(documentDamages)('a set %s lacks only that one', async ([, file, does, problem]) => {
    does(inSet(file))
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect(await healthOf(url)).toMatchObject({
      status: 'degraded',
      problems: [expect.stringMatching(problem)],
      snapshot_sha256: shaOfCurrent(),
    })
    const statuses = async (path: string) => (await fetch(url + path)).status
    expect(await Promise.all(['/api/v1/rails', '/', '/llms.txt'].map(statuses))).toEqual([
      503, 200, 200,
    ])
    await stop(service)
    // `current` keeps the bytes of removed files.
    if (does !== remove) expect(await verify().ended).not.toBe(0)

    expect(await rebuilt()).toContain('were damaged and are written again')
  })

  test.for(damages)('an older set replaces one %s', async ([, file, does, problem, said]) => {
    does(inSet(file))
    const { service: next, url: nextUrl } = await ledger.start({ BUILDER: 'off' })
    const { status, problems, snapshot_sha256: served } = await healthOf(nextUrl)
    expect({ status, served }).toEqual({ status: 'degraded', served: olderSha256 })
    const [problemText = '', ...more] = problems
    expect(more).toEqual([])
    expect(problemText.split('; ')[0]).toMatch(problem)
    expect(problemText).toMatch(/; until there is a valid one, the set of \d{4}-\S+Z is served$/)
    expect(next.output()).toContain('an older published set is served')
    await expectServedWhole(nextUrl)
    await stop(next)

    const verifying = verify()
    expect(await verifying.ended).not.toBe(0)
    expect(verifying.output()).toMatch(/BAD|not|manifest/)

    const { version } = sound.manifest()
    expect(await rebuilt()).toContain(said)
    expect(ledger.manifest().version).toBe(version + 1)
  })

  test('a set with a damaged manifest and no older one is not served, and other reads continue', async () => {
    for (const name of locations().slice(0, -1)) remove(join(ledger.publicDir, 'g', name))
    cut(inSet('snapshot.json'))
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect(await healthOf(url)).toMatchObject({
      status: 'degraded',
      problems: ['the manifest is not JSON'],
      snapshot_sha256: null,
    })
    const statuses = async (path: string) => (await fetch(`${url}/api/v1${path}`)).status
    expect([await statuses('/rails'), await statuses('/receipts?limit=1')]).toEqual([503, 200])
    expect(await rebuilt()).toContain(unreadable)
    await expect.poll(async () => await healthOf(url)).toMatchObject({ status: 'ok' })
    await stop(service)
  })

  test('a set that was damaged after a service loaded it is still served from memory', async () => {
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    const read = async () => await (await fetch(`${url}/api/v1/rails`)).text()
    const whole = await read()
    for (const [, file, does] of documentDamages) {
      if (existsSync(inSet(file))) does(inSet(file))
    }
    expect(await read()).toBe(whole)
    await stop(service)
  })

  test('a set without the links for plain web servers is served, and linked again by the next builder', async () => {
    remove(join(ledger.publicDir, 'current'))
    remove(join(ledger.publicDir, 'views'))
    const { service, url } = await ledger.start({ BUILDER: 'off' })
    expect(await healthOf(url)).toMatchObject({ status: 'ok', snapshot_sha256: shaOfCurrent() })
    await stop(service)
    await rebuilt()
  })
})

function lockFiles(repository: string): void {
  mkdirSync(join(repository, 'refs/heads'), { recursive: true })
  for (const lock of ['index.lock', 'HEAD.lock', 'refs/heads/main.lock']) {
    writeFileSync(join(repository, lock), '')
    utimesSync(join(repository, lock), 0, 0)
  }
}

/** Name, damage, and whether the operator has to move the repository. */
const archives = [
  ['without its objects', (path: string) => remove(join(path, 'objects')), true],
  ['with stale lock files of git', lockFiles, false],
] as const

test.for(archives)(
  'a damaged archive %s does not stop publishing',
  async ([_name, does, needsOperator]) => {
    const repository = join(ledger.dataDir, 'snapshots.git')
    does(repository)
    const build = async () => {
      const builder = ledger.builder(['--once'])
      expect(await builder.ended, builder.output()).toBe(0)
      expect(problemsOfSet(ledger)).toEqual([])
      return builder.output().includes('the snapshot repository is behind')
    }
    expect(await build()).toBe(needsOperator)
    if (needsOperator) {
      renameSync(repository, `${repository}.broken`)
      expect(await build()).toBe(false)
    }
    ledger.git('fsck', '--full', '--strict', '--no-dangling')
    expect(ledger.git('ls-tree', '-r', '--name-only', 'main')).toContain('api/v1/rails/x402.json')
  },
)
