/** Witnesses of a log that behaves, and of one whose operator cheats with the key in hand. */
import { readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { withFileLock } from '../../builder/publish/lock.ts'
import { witnessServer } from '../../scripts/cli/witness/listen.ts'
import { BrokenLogError, createWitness } from '../../scripts/cli/witness/witness.ts'
import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { noteSigner, openCheckpoint } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { logOverHttp } from '../../src/client/log-http.ts'
import { MissingFileError } from '../../src/client/log.ts'
import { toBase64 } from '../../src/core/base64.ts'
import type { Clock } from '../../src/core/deps.ts'
import { consistencyProof } from '../../src/core/tlog/merkle.ts'
import { keyId } from '../../src/core/tlog/note.ts'
import { nodesOf, tilePath } from '../../src/core/tlog/tiles.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { freePort } from '../support/server-process.ts'
import {
  createTestLog,
  logSigner,
  logVkey,
  serveTestLog,
  testEntries,
} from '../support/test-log.ts'
import type { TestLog } from '../support/test-log.ts'

const signerOf = (seed: number) =>
  noteSigner(`witness.test/${seed}`, 'witness', signingKeyFromSeed(new Uint8Array(32).fill(seed)))

async function witnessOf(url: string, dir = tempFolder(), seed = 40, clock: Clock = systemClock) {
  const deps = { fetch, clock, random: systemRandom }
  const source = logOverHttp(deps, `${url}/log`, { vkey: logVkey })
  return await createWitness({ ...deps, source, url, dir, signer: signerOf(seed) })
}

async function proofOf(log: TestLog, older: number, size: number): Promise<string> {
  const read = nodesOf(size, (tile) => {
    const bytes = log.files.get(tilePath(tile))
    return bytes === undefined ? Promise.reject(new Error('no tile')) : Promise.resolve(bytes)
  })
  return (await consistencyProof(older, size, read)).map((hash) => `${toBase64(hash)}\n`).join('')
}

const poll = (at: number, sha256: string) => ({
  v: 1,
  kind: 'poll',
  at: new Date(Date.UTC(2026, 11, 1) + at).toISOString(),
  id: `x402 ${at}`,
  sha256,
  subject: 'x402',
  prev: null,
  outcome: 'ok',
})

test('a witness copies the log, cosigns each checkpoint, and goes on after a restart', async () => {
  const log = createTestLog()
  const { url, requested } = await serveTestLog(() => log)
  const dir = tempFolder()
  let added = 0
  for (const count of [1, 300, 20_000, 5]) {
    await log.grow(testEntries(added, count))
    added += count
    const note = await (await witnessOf(url, dir)).follow()
    const { size, cosigned } = openCheckpoint(note, logSigner.key, [signerOf(40).key])
    expect([size, cosigned.length]).toEqual([added, 1])
    expect(readFileSync(join(dir, 'log/checkpoint'), 'utf8')).toBe(note)
  }
  // The folder is a mirror, from which another witness can follow the log.
  const mirror = { files: new Map(filesOf(join(dir, 'log'))) }
  const copy = await serveTestLog(() => mirror)
  expect(openCheckpoint(await (await witnessOf(copy.url)).follow(), logSigner.key).size).toBe(added)
  const before = requested.length
  await (await witnessOf(url, dir)).follow()
  expect(requested.slice(before)).not.toContain('/log/tile/entries/000')
})

function filesOf(dir: string, below = ''): [string, Uint8Array][] {
  return readdirSync(join(dir, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) return filesOf(dir, path)
    return [[path, readFileSync(join(dir, path))] as [string, Uint8Array]]
  })
}

test('two witnesses find a fork of the log, and keep both signed checkpoints', async () => {
  const honest = createTestLog()
  await honest.grow(testEntries(0, 300))
  let served = honest
  const { url } = await serveTestLog(() => served)
  const witnesses = await Promise.all([41, 42].map((seed) => witnessOf(url, tempFolder(), seed)))
  for (const { follow } of witnesses) await follow()
  // The operator leaves a receipt out, and signs the rest again.
  const forked = createTestLog()
  await forked.grow([...testEntries(0, 100), ...testEntries(101, 300)])
  served = forked
  for (const { follow, checkpoint } of witnesses) {
    const before = await checkpoint()
    const error = await follow().catch((reason: unknown) => reason)
    if (!(error instanceof BrokenLogError)) throw new Error('no fork was found')
    const { message } = error
    expect(message).toContain('the log has forked')
    const [, pattern = ''] = /are in (\S+)\*/.exec(message) ?? []
    const sizes = [1, 2].map(
      (at) => openCheckpoint(readFileSync(`${pattern}${at}`, 'utf8'), logSigner.key).size,
    )
    expect(sizes).toEqual([300, 400])
    expect(await checkpoint()).toBe(before)
  }
})

test.each([
  [
    'an entry that is older than its predecessor',
    testEntries(3, 1).map((entry) => ({ ...entry, at: '2026-01-01T00:00:00.000Z' })),
    'has the time',
  ],
  [
    'an id that occurred before',
    testEntries(9, 1).map((entry) => ({ ...entry, id: 'rcp_0' })),
    'has an id that occurred before',
  ],
  [
    'a chain with a gap',
    [{ ...poll(1, 'ab'.repeat(32)), prev: 1 }],
    'names 1 as the one before it',
  ],
  ['a poll without evidence', [poll(1, 'ab'.repeat(32))], 'the evidence abab'],
])('a witness does not cosign %s', async (_, entries, message) => {
  const log = createTestLog()
  await log.grow(testEntries(0, 3))
  const { url } = await serveTestLog(() => log)
  const witness = await witnessOf(url)
  const before = await witness.follow()
  await log.grow(entries)
  await expect(witness.follow()).rejects.toThrow(message)
  expect(await witness.checkpoint()).toBe(before)
  // It goes on being refused.
  await expect(witness.follow()).rejects.toThrow(message)
})

test('a witness accepts a poll with its evidence, and a manifest that the log has', async () => {
  const evidence = '{"v":1}'
  const log = createTestLog()
  await log.grow([poll(1, sha256Hex(evidence))])
  const { url } = await serveTestLog(() => log, {
    [`/evidence/${sha256Hex(evidence)}.json`]: () => evidence,
  })
  const note = await (await witnessOf(url)).follow()
  expect(openCheckpoint(note, logSigner.key).size).toBe(1)
})

test('a log without its tiles is not cosigned', async () => {
  const log = createTestLog()
  await log.grow(testEntries(0, 300))
  log.files.delete('tile/entries/000')
  const { url } = await serveTestLog(() => log)
  await expect((await witnessOf(url)).follow()).rejects.toThrow('tile/entries/000')
})

async function listen(log: TestLog, clock: Clock = systemClock) {
  const { url } = await serveTestLog(() => log)
  const dir = tempFolder()
  const witness = await witnessOf(url, dir, 40, clock)
  const broken: Error[] = []
  const server = witnessServer(
    witness,
    () => undefined,
    (error) => void broken.push(error),
  )
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  const base = `http://127.0.0.1:${address.port}`
  return {
    witness,
    base,
    dir,
    broken,
    submit: async (body: string) => {
      const answer = await fetch(`${base}/add-checkpoint`, { method: 'POST', body })
      return {
        status: answer.status,
        type: answer.headers.get('content-type'),
        text: await answer.text(),
      }
    },
  }
}

test('a witness that listens answers as c2sp.org/tlog-witness says', async () => {
  const log = createTestLog()
  const first = await log.grow(testEntries(0, 300))
  const { submit, base, witness } = await listen(log)
  const monitored = `${base}/${sha256Hex(logSigner.key.name)}/checkpoint`
  expect((await fetch(monitored)).status).toBe(404)

  expect((await submit(`old 1\n\n${first}`)).status).toBe(409)
  const accepted = await submit(`old 0\n\n${first}`)
  expect(accepted.status).toBe(200)
  const { cosigned } = openCheckpoint(first + accepted.text, logSigner.key, [witness.signer.key])
  expect(cosigned).toHaveLength(1)
  expect(await (await fetch(monitored)).text()).toBe(first + accepted.text)

  const second = await log.grow(testEntries(300, 100))
  const proof = await proofOf(log, 300, 400)
  expect(await submit(`old 0\n\n${second}`)).toEqual({
    status: 409,
    type: 'text/x.tlog.size',
    text: '300\n',
  })
  expect((await submit(`old 300\n\n${second}`)).status).toBe(422)
  expect((await submit(`old 500\n\n${second}`)).status).toBe(400)
  expect((await submit(`old 300\n${proof}${second}`)).status).toBe(400)
  expect((await submit('nothing')).status).toBe(400)
  expect(
    (await submit(`old 300\n${proof}\n${second.replace('ledger.test', 'other.test')}`)).status,
  ).toBe(404)
  expect((await submit(`old 300\n${proof}\n${second.replace('\n400\n', '\n399\n')}`)).status).toBe(
    403,
  )
  expect((await submit(`old 300\n${proof}\n${second}`)).status).toBe(200)
  // The same checkpoint again is cosigned again.
  expect((await submit(`old 400\n\n${second}`)).status).toBe(200)
  const fork = createTestLog()
  const other = await fork.grow(testEntries(1, 400))
  expect((await submit(`old 400\n\n${other}`)).status).toBe(422)
})

test('the same checkpoint submitted again is cosigned with the time of its repetition', async () => {
  const log = createTestLog()
  const note = await log.grow(testEntries(0, 3))
  let nowMs = Date.UTC(2026, 11, 1)
  const { submit, witness } = await listen(log, { ...systemClock, now: () => nowMs })
  for (const old of [0, 3, 3]) {
    nowMs += 1000
    const { text } = await submit(`old ${old}\n\n${note}`)
    const { cosigned } = openCheckpoint(note + text, logSigner.key, [witness.signer.key])
    expect(cosigned.map(({ time }) => time * 1000)).toEqual([nowMs])
    const { cosigned: kept } = openCheckpoint((await witness.checkpoint()) ?? '', logSigner.key, [
      witness.signer.key,
    ])
    expect(kept.map(({ time }) => time * 1000)).toEqual([nowMs])
  }
})

test('a witness keeps no signature that somebody else adds to a submitted checkpoint', async () => {
  const log = createTestLog()
  const note = await log.grow(testEntries(0, 3))
  const { submit, witness } = await listen(log)
  const { key } = witness.signer
  const forged = Buffer.concat([keyId(key), Buffer.alloc(72)]).toString('base64')
  const added = `— ${key.name} ${forged}\n— other.test AAAAAAAA\n`
  const { status, text } = await submit(`old 0\n\n${note}${added}`)
  expect(status).toBe(200)
  expect(await witness.checkpoint()).toBe(note + text)
})

test('a submitted checkpoint that contradicts the one of its size proves the fork, a wrong proof does not', async () => {
  const log = createTestLog()
  const note = await log.grow(testEntries(0, 3))
  const { submit, broken, dir } = await listen(log)
  expect((await submit(`old 0\n\n${note}`)).status).toBe(200)
  const hash = `${toBase64(new Uint8Array(32))}\n`
  expect((await submit(`old 3\n${hash}\n${note}`)).status).toBe(422)
  expect(broken).toEqual([])
  const other = await createTestLog().grow(testEntries(1, 3))
  const { status, text } = await submit(`old 3\n\n${other}`)
  expect([status, text]).toEqual([422, expect.stringContaining('the log has forked')])
  expect(broken.map(({ message }) => message)).toEqual([expect.stringContaining(other)])
  const kept = filesOf(join(dir, 'log/broken')).map(([, bytes]) => bytes.toString())
  expect(kept).toHaveLength(2)
  expect(kept).toContain(other)
})

test('of two checkpoints submitted at once, no later one is taken back', async () => {
  const log = createTestLog()
  const first = await log.grow(testEntries(0, 10))
  const second = await log.grow(testEntries(10, 10))
  const { submit, witness } = await listen(log)
  const answers = await Promise.all([submit(`old 0\n\n${second}`), submit(`old 0\n\n${first}`)])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
  const { size } = openCheckpoint((await witness.checkpoint()) ?? '', logSigner.key)
  expect(size).toBe(answers[0]?.status === 200 ? 20 : 10)
})

test('the message of a cosignature is that of the specification', () => {
  const { key, sign } = signerOf(1)
  const text =
    'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
  const [, , base64 = ''] = sign(text, 1_679_315_147).split(' ')
  const bytes = Buffer.from(base64, 'base64')
  expect(bytes.readBigUInt64BE(4)).toBe(1_679_315_147n)
  const message = `cosignature/v1\ntime 1679315147\n${text}`
  expect(verifyEd25519(message, bytes.subarray(12), key.publicKey).valid).toBe(true)
})

test('a witness whose folder lost a tile says so', async () => {
  const log = createTestLog()
  await log.grow(testEntries(0, 10))
  const { url } = await serveTestLog(() => log)
  const dir = tempFolder()
  await (await witnessOf(url, dir)).follow()
  rmSync(join(dir, 'log/tile/entries/000.p/10'))
  await expect(witnessOf(url, dir)).rejects.toThrow('begin with an empty folder')
})

test('what a log lacks for now delays the cosignature, and is no evidence against the log', async () => {
  const evidence = '{"v":1}'
  const served: { files: TestLog['files']; evidence?: string } = { files: new Map() }
  const { url } = await serveTestLog(() => served, {
    [`/evidence/${sha256Hex(evidence)}.json`]: () => served.evidence,
  })
  const dir = tempFolder()
  const witness = await witnessOf(url, dir)
  await expect(witness.follow()).rejects.toThrow('the log has no checkpoint yet')
  const log = createTestLog()
  await log.grow([...testEntries(0, 2), poll(1, sha256Hex(evidence))])
  served.files = new Map([...log.files].filter(([path]) => !path.startsWith('tile/entries')))
  await expect(witness.follow()).rejects.toThrow(MissingFileError)
  served.files = log.files
  await expect(witness.follow()).rejects.toThrow(MissingFileError)
  expect(await witness.checkpoint()).toBeNull()
  served.evidence = evidence
  expect(openCheckpoint(await witness.follow(), logSigner.key).size).toBe(3)
  expect(readdirSync(join(dir, 'log'))).not.toContain('broken')
})

test('the folder of a witness keeps tiles that are not full only of the newest', async () => {
  const log = createTestLog()
  const { url } = await serveTestLog(() => log)
  const dir = tempFolder()
  const witness = await witnessOf(url, dir)
  for (let size = 0; size < 1100; size += 50) {
    await log.grow(testEntries(size, 50))
    await witness.follow()
  }
  const partial = new Set(
    filesOf(join(dir, 'log')).flatMap(([path]) => /^(.*)\.p\//.exec(path)?.[1] ?? []),
  )
  expect([...partial].toSorted()).toEqual([
    'tile/0/003',
    'tile/0/004',
    'tile/1/000',
    'tile/entries/003',
    'tile/entries/004',
  ])
  expect((await (await witnessOf(url, dir)).follow()).split('\n')[1]).toBe('1100')
})

const witnessCommand = async (url: string, dir: string, ...more: string[]) =>
  await runCommand(['witness', url, '--vkey', logVkey, '--dir', dir, ...more], {}, { fetch })

test('the command cosigns, keeps its key to itself, and ends with 1 on a fork that it prints', async () => {
  const log = createTestLog()
  const first = await log.grow(testEntries(0, 3))
  let served = log
  const { url } = await serveTestLog(() => served)
  const dir = tempFolder()
  expect((await witnessCommand(url, dir)).out).toBe('size 3 cosigned\n')
  expect(statSync(join(dir, 'witness.pem')).mode & 0o777).toBe(0o600)
  served = createTestLog()
  const forked = await served.grow(testEntries(1, 4))
  for (const more of [[], ['--every', '1s']]) {
    const { code, err } = await witnessCommand(url, dir, ...more)
    expect(code).toBe(1)
    expect(err).toContain(first)
    expect(err).toContain(forked)
  }
})

test('the command ends with 1 while another one works in its folder, and when the log is missing', async () => {
  const { url } = await serveTestLog(() => ({ files: new Map() }))
  const dir = tempFolder()
  const locked = await withFileLock(join(dir, 'lock'), () => witnessCommand(url, dir))
  const missing = await witnessCommand(url, dir)
  expect([locked.code, missing.code]).toEqual([1, 1])
  expect(locked.err).toContain('is locked by another process')
  expect(missing.err).toContain('the log has no checkpoint yet')
})

test('a command that listens answers, and ends with 1 when a submitted checkpoint proves a fork', async () => {
  const log = createTestLog()
  const note = await log.grow(testEntries(0, 3))
  const { url } = await serveTestLog(() => log)
  const port = await freePort()
  let isReady: () => void = () => undefined
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  const clock: Clock = {
    ...systemClock,
    sleep: async (delayMs, signal) => {
      isReady()
      await systemClock.sleep(delayMs, signal)
    },
  }
  const args = ['witness', url, '--vkey', logVkey, '--dir', tempFolder(), '--listen', String(port)]
  const ended = runCommand(args, {}, { fetch, clock })
  await ready
  const submit = async (body: string) =>
    (await fetch(`http://127.0.0.1:${port}/add-checkpoint`, { method: 'POST', body })).status
  expect(await submit(`old 3\n\n${note}`)).toBe(200)
  const other = await createTestLog().grow(testEntries(1, 3))
  expect(await submit(`old 3\n\n${other}`)).toBe(422)
  const { code, err } = await ended
  expect([code, err]).toEqual([1, expect.stringContaining('the log has forked')])
})
