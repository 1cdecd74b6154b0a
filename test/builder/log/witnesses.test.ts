/** The builder asks real witnesses over HTTP, and publishes what they cosign. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { createLedgerLog } from '../../../builder/log/log.ts'
import { createCosigning } from '../../../builder/log/witnesses.ts'
import { filesIn } from '../../../builder/publish/public-files.ts'
import { witnessServer } from '../../../scripts/cli/witness/listen.ts'
import { createWitness } from '../../../scripts/cli/witness/witness.ts'
import { noteSigner, openCheckpoint } from '../../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { logOverHttp } from '../../../src/client/log-http.ts'
import { formatKey } from '../../../src/core/tlog/note.ts'
import { parseWitness, policyText } from '../../../src/core/tlog/policy.ts'
import type { KnownWitness } from '../../../src/core/tlog/policy.ts'
import { queueEntries } from '../../../src/db/log.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { tempDatabase, tempFolder } from '../../db/temp-database.ts'
import { serveDuringTest } from '../../support/local-server.ts'
import { quietLog } from '../../support/quiet-log.ts'

const keyOf = (seed: number) => signingKeyFromSeed(new Uint8Array(32).fill(seed))
const signer = noteSigner('ledger.test/log', 'log', keyOf(3))
const witnessSigner = (seed: number) => noteSigner(`witness.test/${seed}`, 'witness', keyOf(seed))

async function startWitness(seed: number, url: string): Promise<KnownWitness> {
  const deps = { fetch, clock: systemClock, url, dir: tempFolder(), signer: witnessSigner(seed) }
  const source = logOverHttp(deps, `${url}/log`, { vkey: formatKey(signer.key) })
  const server = witnessServer(
    await createWitness({ ...deps, source }),
    () => undefined,
    () => undefined,
  )
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return { key: deps.signer.key, url: `http://127.0.0.1:${address.port}` }
}

async function startLog() {
  const database = await tempDatabase()
  const dir = tempFolder()
  const log = createLedgerLog({
    database,
    files: filesIn(dir),
    signer,
    clock: systemClock,
    log: quietLog,
  })
  const url = await serveDuringTest(({ url: path = '' }, response) => {
    readFile(join(dir, path)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end('{}'),
    )
  })
  let added = 0
  return {
    url,
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
    cosigning: (witnesses: readonly KnownWitness[], warnings: unknown[] = []) =>
      createCosigning({
        database,
        clock: systemClock,
        fetch,
        log: { ...quietLog, warn: (_, fields) => void warnings.push(fields?.['reason']) },
        signal: new AbortController().signal,
        logKey: signer.key,
        witnesses,
        ledgerLog: log,
      }),
  }
}

test('each checkpoint is cosigned by all witnesses, from where each of them has stopped', async () => {
  const { url, grow, checkpoint, cosigning } = await startLog()
  await grow(300)
  const first = await startWitness(51, url)
  expect(await cosigning([first])()).toBe('1 of 1 witnesses cosigned size 300')
  const second = await startWitness(52, url)
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

test('witnesses that are away, or answer with the signature of another key, delay nothing', async () => {
  const { url, grow, checkpoint, cosigning } = await startLog()
  await grow(3)
  const good = await startWitness(51, url)
  const away = { key: witnessSigner(52).key, url: 'http://127.0.0.1:1' }
  const forged = { key: witnessSigner(53).key, url: good.url }
  const warnings: unknown[] = []
  expect(await cosigning([away, good, forged], warnings)()).toBe('1 of 3 witnesses cosigned size 3')
  expect(warnings).toHaveLength(2)
  expect(warnings.join()).toContain('no cosignature by its key')
  expect(openCheckpoint(checkpoint(), signer.key, [good.key]).cosigned).toHaveLength(1)
  expect(checkpoint()).not.toContain('witness.test/53')
})

test('a witness that has seen more than the log has is reported', async () => {
  const { url, grow, cosigning } = await startLog()
  await grow(10)
  const witness = await startWitness(51, url)
  await cosigning([witness])()
  const other = await startLog()
  await other.grow(5)
  const warnings: unknown[] = []
  expect(await other.cosigning([witness], warnings)()).toBe('0 of 1 witnesses cosigned size 5')
  expect(warnings.join()).toContain('it has seen size 10 of this log, which has 5 entries')
})

test('the policy names the witnesses, more than half of which are the quorum', () => {
  expect(policyText(signer.key, [])).toBe(`log ${formatKey(signer.key)}\nquorum none\n`)
  const witnesses = [51, 52].map((seed) => ({
    key: witnessSigner(seed).key,
    url: `https://w.test/${seed}`,
  }))
  expect(policyText(signer.key, witnesses).split('\n').slice(1)).toEqual([
    `witness w1 ${formatKey(witnessSigner(51).key)} https://w.test/51`,
    `witness w2 ${formatKey(witnessSigner(52).key)} https://w.test/52`,
    'group quorum-of-all 2 w1 w2',
    'quorum quorum-of-all',
    '',
  ])
  expect(parseWitness(`${formatKey(witnessSigner(51).key)} https://w.test/`)?.url).toBe(
    'https://w.test',
  )
  expect(parseWitness(`${formatKey(signer.key)} https://w.test/`)).toBeNull()
})
