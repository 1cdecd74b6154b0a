/** The builder requests cosignatures over HTTP, and publishes them. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { createAskSizes, createCosigning } from '../../../builder/log/witnesses.ts'
import { noteSigner, openCheckpoint } from '../../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { parseConfig } from '../../../src/config.ts'
import { formatKey } from '../../../src/core/tlog/note.ts'
import { parseWitnessPolicy, policyText } from '../../../src/core/tlog/policy.ts'
import type { KnownWitness } from '../../../src/core/tlog/policy.ts'
import { findCheckpoint, queueEntries } from '../../../src/db/log.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { tempDatabase, tempFolder } from '../../db/temp-database.ts'
import { serveDuringTest } from '../../support/local-server.ts'
import { beginLog, localDirectory, localLog } from '../../support/publish-log.ts'
import { quietLog } from '../../support/quiet-log.ts'
import { cosignerOf, mlDsaCosignerOf, serveWitness } from '../../support/witness.ts'

const signer = noteSigner('ledger.test/log', signingKeyFromSeed(new Uint8Array(32).fill(3)))
const keyOf = (seed: number) => cosignerOf(`witness.test/${seed}`, seed).key
const startWitness = async (seed: number): Promise<KnownWitness> =>
  await serveWitness(signer.key, cosignerOf(`witness.test/${seed}`, seed))
const startMlDsaWitness = async (seed: number): Promise<KnownWitness> =>
  await serveWitness(signer.key, mlDsaCosignerOf(`witness.test/${seed}`, seed))

async function startLog() {
  const database = await tempDatabase()
  await beginLog(database, signer)
  const dir = tempFolder()
  const started = (witnesses: readonly KnownWitness[]) =>
    localLog({
      database,
      files: localDirectory(dir),
      signer,
      askSizes: createAskSizes({
        database,
        fetch,
        signal: new AbortController().signal,
        policy: { witnesses, quorum: 1 },
      }),
    })
  const log = started([])
  let added = 0
  return {
    started,
    loseFiles: () => rmSync(join(dir, 'log'), { recursive: true }),
    checkpoint: () => readFileSync(join(dir, 'log/checkpoint'), 'utf8'),
    grow: async (count: number) => {
      const entries = Array.from({ length: count }, (_, at) => ({
        kind: 'receipt' as const,
        id: `rcp_${added + at}`,
        sha256: 'ab'.repeat(32),
      }))
      added += count
      await database.write((tx) => queueEntries(tx, entries))
      await log.grow()
    },
    witnessed: async () => (await findCheckpoint(database.reader, 'witnessed'))?.size ?? null,
    cosigning: (
      witnesses: readonly KnownWitness[],
      warnings: unknown[] = [],
      quorum = 2,
      ledgerLog = log,
    ) =>
      createCosigning({
        database,
        clock: systemClock,
        fetch,
        log: { ...quietLog, warn: (_, fields) => void warnings.push(fields?.['reason']) },
        signal: new AbortController().signal,
        logKey: signer.key,
        policy: { witnesses, quorum },
        ledgerLog,
      }),
  }
}

test('each checkpoint is cosigned by all witnesses, with Ed25519 or ML-DSA-44, each from the size that it has seen last', async () => {
  const { grow, checkpoint, cosigning } = await startLog()
  await grow(300)
  const first = await startWitness(51)
  expect(await cosigning([first])()).toBe('1 of 1 witnesses cosigned size 300')
  const second = await startMlDsaWitness(52)
  const witnesses = [first, second]
  for (const [count, size] of [
    [1, 301],
    [600, 901],
  ] as const) {
    await grow(count)
    const cosign = cosigning(witnesses)
    expect(await cosign()).toBe(`2 of 2 witnesses cosigned size ${size}`)
    expect(await cosign()).toBeNull()
    const keys = witnesses.map(({ key }) => key)
    const { cosigned } = openCheckpoint(checkpoint(), signer.key, keys)
    expect(cosigned.map(({ key }) => key)).toEqual(keys)
  }
})

test('a witness that is unreachable, or signs with another key, delays nothing', async () => {
  const { grow, checkpoint, cosigning } = await startLog()
  await grow(3)
  const good = await startWitness(51)
  const down = { key: keyOf(52), url: 'http://127.0.0.1:1' }
  const forged = { key: keyOf(53), url: good.url }
  const warnings: unknown[] = []
  expect(await cosigning([down, good, forged], warnings)()).toBe('1 of 3 witnesses cosigned size 3')
  expect(warnings).toHaveLength(2)
  expect(warnings.join()).toContain('no cosignature by its key')
  expect(openCheckpoint(checkpoint(), signer.key, [good.key]).cosigned).toHaveLength(1)
  expect(checkpoint()).not.toContain('witness.test/53')
})

test('an ML-DSA-44 cosignature counts only by its own key over the name, the time and the tree', async () => {
  const { grow, checkpoint, cosigning } = await startLog()
  await grow(3)
  const good = mlDsaCosignerOf('witness.test/51', 51)
  const answering = async (answerTo: (body: string) => string): Promise<KnownWitness> => ({
    key: good.key,
    url: await serveDuringTest((_, response) => response.end(answerTo(checkpointBody()))),
  })
  const checkpointBody = () => checkpoint().slice(0, checkpoint().indexOf('\n\n') + 1)
  const [, name, base64 = ''] = good.cosign(checkpointBody(), 7).split(' ')
  const bytes = Buffer.from(base64, 'base64')
  const changedAt = (at: number) => {
    const copy = Buffer.from(bytes)
    copy[at] = (copy[at] ?? 0) ^ 1
    return `— ${name} ${copy.toString('base64')}\n`
  }
  const wrong = [
    ['is not valid', () => changedAt(11)],
    ['is not valid', () => changedAt(500)],
    ['is not valid', () => `— ${name} ${bytes.subarray(0, -1).toString('base64')}\n`],
    ['is not valid', (body: string) => `${good.cosign(body.replace('\n3\n', '\n4\n'), 7)}\n`],
    ['no cosignature', (body: string) => `${mlDsaCosignerOf('other.test', 51).cosign(body, 7)}\n`],
    ['no cosignature', (body: string) => `${mlDsaCosignerOf(good.key.name, 52).cosign(body, 7)}\n`],
  ] as const
  for (const [reason, answerTo] of wrong) {
    const warnings: unknown[] = []
    const witness = await answering(answerTo)
    expect(await cosigning([witness], warnings)()).toBe('0 of 1 witnesses cosigned size 3')
    expect(warnings.join()).toContain(reason)
  }
  // A witness may hold keys of both kinds, and sign with both.
  const both = await answering((body) => {
    const ed25519 = cosignerOf(good.key.name, 53).cosign(body, 7)
    return `${ed25519}\n${good.cosign(body, 7)}\n`
  })
  expect(await cosigning([both], [], 1)()).toBe('1 of 1 witnesses cosigned size 3')
  expect(openCheckpoint(checkpoint(), signer.key, [good.key]).cosigned).toEqual([
    { key: good.key, time: 7 },
  ])
})

test('at most 16 KiB of the answer of a witness are read', async () => {
  const { grow, cosigning } = await startLog()
  await grow(3)
  const url = await serveDuringTest((_, response) => response.end('x'.repeat(16 * 1024 + 1)))
  const warnings: unknown[] = []
  const verbose = { key: keyOf(51), url }
  expect(await cosigning([verbose], warnings)()).toBe('0 of 1 witnesses cosigned size 3')
  expect(warnings).toEqual(['the answer is larger than 16384 bytes'])
})

test('a witness that has seen a longer log than the builder has is reported', async () => {
  const { grow, cosigning } = await startLog()
  await grow(10)
  const witness = await startWitness(51)
  await cosigning([witness])()
  const other = await startLog()
  await other.grow(5)
  const warnings: unknown[] = []
  expect(await other.cosigning([witness], warnings)()).toBe('0 of 1 witnesses cosigned size 5')
  expect(warnings.join()).toContain('it has seen size 10 of this log, which has 5 entries')
})

test('nothing is signed if a witness has seen more entries than database and published files have', async () => {
  const { grow, cosigning } = await startLog()
  await grow(10)
  const witness = await startWitness(51)
  await cosigning([witness])()
  for (const size of [5, 0]) {
    const older = await startLog()
    if (size > 0) await older.grow(size)
    const growing = older.started([witness]).grow()
    const says = `the database has ${size} entries of the log, but witness.test/51 has seen 10`
    await expect(growing).rejects.toThrow(says)
  }
})

test('a restored log whose published files are lost does not fork because a witness that was down has seen no more', async () => {
  const { grow, cosigning } = await startLog()
  await grow(5)
  const witness = await startWitness(51)
  await cosigning([witness])()
  // The witness is down while readers see ten entries, of which the backup has five.
  await grow(5)
  const { grow: growBackup, cosigning: ask, started, loseFiles, checkpoint } = await startLog()
  await growBackup(5)
  const before = checkpoint()
  loseFiles()
  // Asking must not show the witness the checkpoint of the database.
  const plain = await startWitness(54)
  for (const others of [[], [witness], [plain], [plain]]) {
    const blocked = started(others)
    await expect(blocked.grow()).rejects.toThrow('the published log is lost')
    expect(await ask(others, [], 1, blocked)()).toBeNull()
  }
  expect(checkpoint).toThrow('ENOENT')
  expect(before).toContain('ledger.test/log\n5\n')
})

test('a checkpoint counts as witnessed once the quorum has cosigned it, together or one after another', async () => {
  const { grow, cosigning, witnessed } = await startLog()
  await grow(3)
  const [first, second] = [await startWitness(51), await startWitness(52)]
  const down = { key: keyOf(52), url: 'http://127.0.0.1:1' }
  expect(await cosigning([first, down])()).toBe('1 of 2 witnesses cosigned size 3')
  expect(await witnessed()).toBeNull()
  expect(await cosigning([first, second])()).toBe('2 of 2 witnesses cosigned size 3')
  expect(await witnessed()).toBe(3)
  await grow(3)
  await cosigning([first, down])()
  expect(await witnessed()).toBe(3)
  await grow(3)
  await cosigning([first, down], [], 1)()
  expect(await witnessed()).toBe(9)
})

test('the policy names the witnesses and their quorum, which is more than half by default', () => {
  const none = parseWitnessPolicy('')
  expect(policyText(signer.key, none)).toBe(`log ${formatKey(signer.key)}\nquorum none\n`)
  const keys = [keyOf(51), mlDsaCosignerOf('witness.test/52', 52).key, keyOf(53)]
  const known = keys.map((key, at) => `${formatKey(key)} https://w.test/${51 + at}`)
  expect(
    policyText(signer.key, parseWitnessPolicy(known.join(', ')))
      .split('\n')
      .slice(1),
  ).toEqual([
    ...known.map((one, at) => `witness w${at + 1} ${one}`),
    'group witnesses 2 w1 w2 w3',
    'quorum witnesses',
    '',
  ])
  const all = parseWitnessPolicy(`3,${known.join()}`)
  expect(policyText(signer.key, all)).toContain('group witnesses 3 w1 w2 w3\n')
  expect(parseWitnessPolicy(`${formatKey(keyOf(51))} https://w.test/`).witnesses[0]?.url).toBe(
    'https://w.test',
  )
})

test.each([
  [
    'the key of a log',
    `${formatKey(signer.key)} https://w.test`,
    'its verifier key and its address',
  ],
  ['a witness without an address', formatKey(keyOf(51)), 'its verifier key and its address'],
  ['a quorum that is never reached', `2,${formatKey(keyOf(51))} https://w.test`, 'from 1 to 1'],
  [
    'two witnesses with one key',
    ['a.test', 'b.test']
      .map((name) => `${formatKey(cosignerOf(name, 51).key)} https://${name}`)
      .join(),
    'its own key',
  ],
  [
    'two keys of one witness',
    [keyOf(51), mlDsaCosignerOf('witness.test/51', 51).key]
      .map((key) => `${formatKey(key)} https://w.test`)
      .join(),
    'its own name',
  ],
])('WITNESSES with %s is refused', (_, value, message) => {
  const parse = () => parseConfig({ variables: { WITNESSES: value }, readFile: () => '' })
  expect(parse).toThrow(message)
})
