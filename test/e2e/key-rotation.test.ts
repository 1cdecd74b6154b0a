/** Rotates the signing key under load: readers check every document against the published keys. */
import { expect, test } from 'vitest'

import { parseSigningKeys, verifyDocument } from '../../src/client/verify.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { installBoardProgram } from './board.ts'
import { createClients } from './clients.ts'
import { newLedger, stop, useProgram } from './ledger.ts'
import { admin } from './operator.ts'

allowSlowTests('starts the compiled program')

const rotations = 3
const readerCount = 4
const writerCount = 4
const receiptsBetween = 40
const keysPath = '/.well-known/signing-keys.json'

const program = useProgram(installBoardProgram)

async function keysOf(url: string): Promise<SigningKeys> {
  const answer = await fetch(url + keysPath)
  const keys = parseSigningKeys(new Uint8Array(await answer.arrayBuffer()))
  if (keys === null) throw new Error(`${keysPath} contains no keys`)
  return keys
}

/** Caches the published keys and fetches them again for an unknown key, as the docs recommend. */
function createReader(url: string) {
  let keys: SigningKeys = { keys: [] }
  const kids = new Set<string>()
  const failures: string[] = []
  let checked = 0
  return {
    failures,
    kids,
    checked: () => checked,
    read: async (path: string): Promise<void> => {
      const answer = await fetch(url + path)
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const signature = answer.headers.get('x-signature') ?? ''
      const kid = answer.headers.get('x-signature-key') ?? ''
      if (!keys.keys.some((key) => key.kid === kid)) keys = await keysOf(url)
      const check = await verifyDocument(bytes, { signature, kid }, keys)
      checked += 1
      kids.add(kid)
      if (!check.good || answer.status !== 200) {
        failures.push(`${path} (${answer.status}): ${check.what}: ${check.detail}`)
      }
    },
  }
}

test(`no signature check fails while the key is rotated ${rotations} times under writes and builds`, async () => {
  const ledger = newLedger(program, { POLL: 'off' })
  const { service, url } = await ledger.start()
  await service.says('"message":"serving"')
  const readers = Array.from({ length: readerCount }, () => createReader(url))
  const clients = createClients(writerCount)
  const paths = [
    '/snapshot.json',
    keysPath,
    '/api/v1/stats/live',
    '/api/v1/receipts',
    '/api/v1/leaderboard',
    '/api/v1/rails',
    '/',
  ]
  const load = { isOver: false }
  const posting = clients.post(url, Infinity, () => load.isOver)
  const reading = readers.map(async (reader, first) => {
    for (let at = first; !load.isOver; at += 1) await reader.read(paths[at % paths.length] ?? '/')
  })
  const active: string[] = []
  for (let at = 0; at < rotations; at += 1) {
    const before = clients.acknowledged()
    await expect.poll(clients.acknowledged).toBeGreaterThanOrEqual(before + receiptsBetween)
    expect(await admin(ledger, 'keys', 'rotate')).toMatchObject({ code: 0 })
    const listed = parseSigningKeys(
      Buffer.from((await admin(ledger, 'keys', 'list', '--json')).out),
    )
    const kid = listed?.keys.find(({ status }) => status === 'active')?.kid ?? ''
    active.push(kid)
    // Rotates again only after every reader has seen a document signed with the new key.
    const haveSeenKey = () => readers.every(({ kids }) => kids.has(kid))
    await expect.poll(haveSeenKey, { interval: 20 }).toBe(true)
  }
  load.isOver = true
  await Promise.all(reading)
  const results = await posting
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set([201]))
  const failures = () => readers.flatMap((reader) => reader.failures)
  expect(failures()).toEqual([])
  const published = await keysOf(url)
  expect(published.keys.length).toBe(rotations + 1)
  expect(published.keys[0]).toMatchObject({ kid: active.at(-1), status: 'active' })
  for (const path of paths) await readers[0]?.read(path)
  expect(failures()).toEqual([])
  expect(await clients.expectStored(ledger)).toBe(results.length)
  await stop(service)
  const checked = readers.reduce((sum, reader) => sum + reader.checked(), 0)
  process.stdout.write(
    `${rotations} rotations, ${results.length} receipts, ${checked} signature checks, 0 failed\n`,
  )
  ledger.remove()
}, 300_000)
