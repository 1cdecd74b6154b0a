/**
 * Replays power cuts at every flush of a builder that publishes: strace records the file operations of the compiled builder,
 * and on each tree that a cut could leave, a reader finds either the old set or the new one, complete.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { expect, test } from 'vitest'

import { parseSigningKeys, verifyDocument, verifyManifest } from '../../../src/client/verify.ts'
import type { SigningKeys } from '../../../src/contract/schemas/service.ts'
import { allGood } from '../../../src/core/check.ts'
import { MANIFEST_FILE, MANIFEST_SIGNATURE_FILE, encodedFile } from '../../../src/core/documents.ts'
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
function onceFor<Answer>(look: (bytes: Buffer, of: string) => Answer) {
  const known = new WeakMap<Buffer, Map<string, Answer>>()
  return (bytes: Buffer, of: string): Answer => {
    const answers = known.get(bytes) ?? new Map<string, Answer>()
    known.set(bytes, answers)
    const answer = answers.get(of) ?? look(bytes, of)
    answers.set(of, answer)
    return answer
  }
}

/** Reads a disk like a client that trusts only the signing keys. */
function createReader(keys: SigningKeys) {
  const sha256 = onceFor((bytes) => createHash('sha256').update(bytes).digest('hex'))
  const isSigned = onceFor(async (bytes, signed) => {
    const [signature = '', kid = ''] = signed.split(' ')
    return allGood([await verifyDocument(bytes, { signature, kid }, keys)])
  })

  /** Checks the signature and every file. Returns the hash of the set. @throws Error */
  return async ({ read }: Disk): Promise<string> => {
    const bytesOf = (file: string): Buffer => {
      const bytes = read(`current/${file}`)
      if (bytes === null) throw new Error(`${file} is missing`)
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
      if (sha256(bytesOf(file), '') !== hash)
        throw new Error(`${file} differs from the published file`)
    }
    for (const { file, sha256: hash, encodings: forms, signature, kid } of manifest.documents) {
      compare(file, hash)
      if (!(await isSigned(bytesOf(file), `${signature} ${kid}`))) {
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

test(
  'after a power cut at any flush readers find either the old set or the new one, whole',
  async () => {
    const ledger = newLedger(program, { POLL: 'off' })
    expect(await ledger.builder(['--once']).ended).toBe(0)
    const oldSet = ledger.manifest().set_sha256
    const keysFile = join(ledger.publicDir, 'current/.well-known/signing-keys.json')
    const keys = parseSigningKeys(readFileSync(keysFile))
    if (keys === null) throw new Error('no keys are published')
    const setOn = createReader(keys)
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
      const set = await setOn(disk)
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
