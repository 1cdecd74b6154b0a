/**
 * Replays power cuts at every flush of a builder that publishes. Readers of `current` find the old set or the new set, and
 * those of the database the set of its newest row.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { describe, expect, test } from 'vitest'

import { parseSigningKeys, verifyDocument, verifyManifest } from '../../../src/client/verify.ts'
import type { SigningKeys } from '../../../src/contract/schemas/service.ts'
import { allGood } from '../../../src/core/check.ts'
import {
  MANIFEST_FILE,
  MANIFEST_SIGNATURE_FILE,
  bodyKey,
  encodedFile,
  manifestSchema,
} from '../../../src/core/documents.ts'
import { workspace } from '../../builder/publish/set.ts'
import { installBoardProgram } from '../../e2e/board.ts'
import { newLedger, useProgram } from '../../e2e/ledger.ts'
import { runCommand } from '../../support/program.ts'
import { randomFrom } from '../../support/random.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { before, disksAfterCuts, tracedCalls } from './recorded-tree.ts'
import type { Disk } from './recorded-tree.ts'

allowSlowTests('starts the compiled program')

const seed = 20_261_121
/** A build under strace, on a machine that may be busy. */
const timeoutMs = 600_000
const program = useProgram(installBoardProgram)

const encodings = ['br', 'gzip'] as const
const unpacked = { br: brotliDecompressSync, gzip: gunzipSync } as const

/** Caches checks by buffer: disks share the buffers of unchanged files. */
function cachedByBuffer<Answer>(look: (bytes: Buffer, of: string) => Answer) {
  const known = new WeakMap<Buffer, Map<string, Answer>>()
  return (bytes: Buffer, of: string): Answer => {
    const answers = known.get(bytes) ?? new Map<string, Answer>()
    known.set(bytes, answers)
    const answer = answers.get(of) ?? look(bytes, of)
    answers.set(of, answer)
    return answer
  }
}

/** The key of a file of a set; bodies have a hash. */
type Place = (file: string, sha256?: string) => string

const byPath: Place = (file) => `current/${file}`
const inStore =
  (location: string): Place =>
  (file, sha256) =>
    sha256 === undefined ? `${location}/${file}` : bodyKey({ file, sha256 })

/** Reads a set on a disk like a client that trusts only the signing keys. */
function createReader(keys: SigningKeys) {
  const sha256 = cachedByBuffer((bytes) => createHash('sha256').update(bytes).digest('hex'))
  const isSigned = cachedByBuffer(async (bytes, signed) => {
    const [signature = '', kid = ''] = signed.split(' ')
    return allGood([await verifyDocument(bytes, { signature, kid }, keys)])
  })

  /** Checks the signature and every file. Returns the hash of the set. @throws Error */
  return async ({ name, read }: Disk, place: Place): Promise<string> => {
    const bytesOf = (file: string, hash?: string): Buffer => {
      const bytes = read(place(file, hash))
      if (bytes === null) throw new Error(`${name}: ${place(file, hash)} is missing`)
      return bytes
    }
    const line = bytesOf(MANIFEST_SIGNATURE_FILE).toString()
    const { manifest, checks } = await verifyManifest(bytesOf(MANIFEST_FILE), line, keys)
    if (manifest === null) throw new Error(`the manifest: ${JSON.stringify(checks)}`)
    for (const encoding of encodings) {
      const form = bytesOf(encodedFile(MANIFEST_FILE, encoding))
      if (!unpacked[encoding](form).equals(bytesOf(MANIFEST_FILE))) {
        throw new Error(`the manifest in ${encoding} differs`)
      }
    }
    const compare = (file: string, hash: string): void => {
      if (sha256(bytesOf(file, hash), '') !== hash)
        throw new Error(`${name}: ${file} differs from the published file`)
    }
    for (const { file, sha256: hash, encodings: forms, signature, kid } of manifest.documents) {
      compare(file, hash)
      if (!(await isSigned(bytesOf(file, hash), `${signature} ${kid}`))) {
        throw new Error(`the signature of ${file} is wrong`)
      }
      for (const encoding of encodings) {
        const form = forms[encoding]
        if (form !== undefined) compare(encodedFile(file, encoding), form.sha256)
      }
    }
    return manifest.set_sha256
  }
}

/** A set of documents that a process publishes under strace. */
interface Publishing {
  readonly publicDir: string
  readonly keys: SigningKeys
  /** Script and arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/**
 * Records the process and expects on each disk the old set or the new one by path, the old set in the store, and the new
 * one too from the write of its row on. Returns the number of disks with each of the two sets by path, of disks after the
 * row, and of flushes of the whole file system.
 */
async function publishWithCuts({ publicDir, keys, command, env }: Publishing) {
  const currentSet = () => manifestSchema.parse(JSON.parse(manifestOf(publicDir))).set_sha256
  const [oldSet, oldLocation] = [currentSet(), newestLocation(publicDir)]
  const tree = before(publicDir)
  const record = join(program.dir, 'trace')
  const how = ['-f', '-y', '-qq', '--seccomp-bpf', '-s', '4096', '-o', record]
  const what = ['-e', 'signal=none', '-e', `trace=${tracedCalls}`, process.execPath, ...command]
  expect(await runCommand('strace', [...how, ...what], env).ended).toBe(0)
  const newSet = currentSet()
  expect(newSet).not.toBe(oldSet)
  const newLocation = newestLocation(publicDir)
  const setOn = createReader(keys)
  const found = new Map([oldSet, newSet].map((set) => [set, 0]))
  const trace = readFileSync(record, 'utf8').split('\n')
  const rowAt = trace.findIndex((line) => line.includes('.db-wal') && line.includes(newLocation))
  expect(rowAt).toBeGreaterThan(0)
  let withRow = 0
  for (const [disk, at] of disksAfterCuts(tree, trace, randomFrom(seed))) {
    expect(await setOn(disk, inStore(oldLocation))).toBe(oldSet)
    if (at > rowAt) {
      expect(await setOn(disk, inStore(newLocation))).toBe(newSet)
      withRow += 1
    }
    const set = await setOn(disk, byPath)
    expect(found.has(set), disk.name).toBe(true)
    found.set(set, (found.get(set) ?? 0) + 1)
  }
  const [withOld = 0, withNew = 0] = found.values()
  process.stdout.write(
    `publishing: ${withOld} disks with the old set, ${withNew} with the new one, ${withRow} with its row\n`,
  )
  const fileSystemFlushes = trace.filter((line) => /^\d+ +syncfs\(/.test(line)).length
  return { withOld, withNew, withRow, fileSystemFlushes }
}

function newestLocation(publicDir: string): string {
  const versionOf = (name: string) => Number(name.split('-')[1])
  const names = readdirSync(join(publicDir, 'g'))
  return `g/${names.toSorted((left, right) => versionOf(right) - versionOf(left))[0]}`
}

const manifestOf = (publicDir: string): string =>
  readFileSync(join(publicDir, 'current', MANIFEST_FILE), 'utf8')

describe('after a power cut at any flush readers find the old set or the new one, whole', () => {
  test('readers find a whole set after any cut of a builder', { timeout: timeoutMs }, async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    const { publicDir, env } = ledger
    expect(await ledger.builder(['--once']).ended).toBe(0)
    const keys = parseSigningKeys(
      readFileSync(join(publicDir, 'current/.well-known/signing-keys.json')),
    )
    if (keys === null) throw new Error('no keys are published')
    const rail = join(program.dir, 'data/rails/olas.json')
    const authored: unknown = JSON.parse(readFileSync(rail, 'utf8'))
    writeFileSync(rail, JSON.stringify({ ...Object(authored), notes: 'another note' }))
    const command = [program.builder, '--once']
    const found = await publishWithCuts({ publicDir, keys, command, env })
    expect(found.withOld).toBeGreaterThan(20)
    expect(Math.min(found.withNew, found.withRow)).toBeGreaterThan(2)
    ledger.remove()
  })

  test.each([
    ['a small set, flushed file by file', 12, ['sync'], 0],
    ['a large set, flushed with its file system', 120, ['sync'], 1],
    ['a large set without the program sync, flushed file by file', 120, [], 0],
    ['a large set with a failing sync, flushed file by file', 120, ['false as sync'], 0],
  ])(
    'after a power cut at any flush of %s readers find a whole set',
    { timeout: timeoutMs },
    async (_name, rails, programs, fileSystemFlushes) => {
      const { root, publicDir, keysDir, keys, remove } = await workspace()
      const env = { PATH: folderOf(join(root, 'bin'), ['strace', ...programs]) }
      const child = program.scriptOf('test/builder/publish/publish-child.ts')
      const publish = (version: number) => [child, publicDir, keysDir, `${version}`, `${rails}`]
      expect(await runCommand(process.execPath, publish(1), env).ended).toBe(0)
      const publishing = {
        publicDir,
        keys: { keys: [...keys.publicKeys.keys] },
        command: publish(2),
        env,
      }
      const found = await publishWithCuts(publishing)
      expect(found).toMatchObject({ fileSystemFlushes })
      expect(Math.min(found.withOld, found.withNew, found.withRow)).toBeGreaterThan(2)
      await remove()
    },
  )
})

/** Creates a directory for PATH that contains only these programs. */
function folderOf(dir: string, programs: readonly string[]): string {
  mkdirSync(dir)
  for (const program of programs) {
    const [from = '', as = from] = program.split(' as ')
    symlinkSync(execFileSync('which', [from], { encoding: 'utf8' }).trim(), join(dir, as))
  }
  return dir
}
