/**
 * Power cuts at every flush of a builder that publishes, replayed: strace records what the compiled builder did to
 * PUBLIC_DIR, and on each tree that a cut could leave a reader finds the old set whole, or the new one.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import { installBoardProgram } from '../../e2e/board.ts'
import { newLedger } from '../../e2e/ledger.ts'
import { runCommand } from '../../support/program.ts'
import type { Program } from '../../support/program.ts'
import { randomFrom } from '../../support/random.ts'
import { before, disksAfterCuts, tracedCalls } from './recorded-tree.ts'
import type { Disk } from './recorded-tree.ts'

const seed = 20_261_121
/** A build under strace, on a machine that may be busy. */
const timeoutMs = 600_000
let program: Program

beforeAll(() => {
  program = installBoardProgram()
})
afterAll(() => program.remove())

const hashes = new WeakMap<Buffer, string>()
function sha256(bytes: Buffer): string {
  const known = hashes.get(bytes) ?? createHash('sha256').update(bytes).digest('hex')
  hashes.set(bytes, known)
  return known
}

/** The hash of the set that a reader finds, once every file of it was compared. @throws Error */
function setOn({ read }: Disk): string {
  const bytesOf = (file: string): Buffer => {
    const bytes = read(`current/${file}`)
    if (bytes === null) throw new Error(`${file} is not there`)
    return bytes
  }
  const manifest = manifestSchema.parse(JSON.parse(bytesOf('snapshot.json').toString()))
  const compare = (file: string, hash: string): void => {
    if (sha256(bytesOf(file)) !== hash) throw new Error(`${file} is not what the manifest says`)
  }
  for (const { file, sha256: hash, encodings } of manifest.documents) {
    compare(file, hash)
    for (const encoding of ['br', 'gzip'] as const) {
      const form = encodings[encoding]
      if (form !== undefined) compare(encodedFile(file, encoding), form.sha256)
    }
  }
  bytesOf('snapshot.json.sig')
  return manifest.set_sha256
}

test(
  'after a power cut at any flush a reader finds the old set whole, or the new one',
  async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    expect(await ledger.builder(['--once']).ended).toBe(0)
    const oldSet = ledger.manifest().set_sha256
    const rail = join(program.dir, 'data/rails/olas.json')
    const authored: unknown = JSON.parse(readFileSync(rail, 'utf8'))
    writeFileSync(rail, JSON.stringify({ ...Object(authored), notes: 'another note' }))

    const tree = before(ledger.publicDir)
    const record = join(program.dir, 'trace')
    const how = [
      '-f',
      '-y',
      '-qq',
      '--seccomp-bpf',
      '-e',
      'signal=none',
      '-s',
      '4096',
      '-o',
      record,
    ]
    const strace = runCommand(
      'strace',
      [...how, '-e', `trace=${tracedCalls}`, process.execPath, program.builder, '--once'],
      ledger.env,
    )
    expect(await strace.ended).toBe(0)
    const newSet = ledger.manifest().set_sha256
    expect(newSet).not.toBe(oldSet)

    const found = new Map([oldSet, newSet].map((set) => [set, 0]))
    for (const disk of disksAfterCuts(
      tree,
      readFileSync(record, 'utf8').split('\n'),
      randomFrom(seed),
    )) {
      const set = setOn(disk)
      expect(found.has(set), disk.name).toBe(true)
      found.set(set, (found.get(set) ?? 0) + 1)
    }
    const [old = 0, made = 0] = found.values()
    expect(old).toBeGreaterThan(20)
    expect(made).toBeGreaterThan(2)
    process.stdout.write(`publishing: ${old} disks with the old set, ${made} with the new one\n`)
    ledger.remove()
  },
  timeoutMs,
)
