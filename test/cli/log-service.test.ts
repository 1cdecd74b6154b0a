/** Commands that check the log, against a real service with a real database. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { snapshotEntry } from '../../builder/publish/publish.ts'
import { receiptId } from '../../src/auth/messages.ts'
import { acceptedReceipt } from '../../src/contract/schemas/receipt.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { minuteMs } from '../../src/core/time.ts'
import { queueEntries } from '../../src/db/log.ts'
import { newestPublication } from '../../src/db/publications.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { publishLog } from '../support/publish-log.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'
import { smallWorld } from '../support/world.ts'

const platformKey = ed25519Key('platform')
const alice = evmWallet('alice')
const service = useService({
  documents: [...documentsOf(smallWorld())],
  options: async () => ({ actions: await platformActions(platformKey) }),
})

async function command(...words: string[]): Promise<string> {
  const deps = { fetch, clock: service.clock }
  const { out, err } = await runCommand(words, { LEDGER_URL: service.url }, deps)
  return out + err
}

async function submit() {
  const receipt = issued(receiptFacts(alice), platformKey)
  const body = await submission(alice, receipt, service.clock.now())
  const made = await service.postJson('/api/v1/receipts', body)
  const folder = tempFolder()
  const [file, promise] = [join(folder, 'receipt.json'), join(folder, 'promise.txt')]
  writeFileSync(file, canonicalize(receipt))
  writeFileSync(promise, acceptedReceipt.parse(made.body).log?.promise ?? '')
  return { id: receiptId(receipt), file, promise }
}

test('receipt verify --log accepts the promise of a service until it is broken, and then the proof', async () => {
  const { id, file, promise } = await submit()
  const verify = async () => await command('receipt', 'verify', file, '--log', '--promise', promise)
  const early = await verify()
  expect(early).toContain('good  promise: signed by ledger.test/log')
  expect(early).toContain('BAD   proof: the receipt is not in the log yet')
  service.clock.advance(minuteMs + 1)
  expect(await verify()).toContain('BAD   promise: signed by ledger.test/log, and broken')
  await publishLog(service.actions, tempFolder())
  const found = await verify()
  expect(found).toContain(`good  entry: 0: receipt ${id}`)
  expect(found).toContain('good  inclusion: 1 hashes')
})

test('log verify accepts the log of a service, and snapshot verify --log its manifest', async () => {
  const published = tempFolder()
  await submit()
  await publishLog(service.actions, published)
  expect(await command('log', 'verify')).toContain('good  entries: 2: canonical')
  const keys = join(tempFolder(), 'keys.json')
  writeFileSync(keys, JSON.stringify(service.published.publicKeys))
  const verify = async (...words: string[]) =>
    await command('snapshot', 'verify', '--log', '--keys', keys, ...words)
  const absent = await verify()
  expect(absent).toMatch(/BAD {3}entry: none of 2 entries is a snapshot with the SHA-256/)

  const set = await newestPublication(service.published.database.reader)
  const { manifestSha256 = '', version = 0 } = set ?? {}
  const { write } = service.actions.database
  await write((tx) => queueEntries(tx, [snapshotEntry(manifestSha256, version)]))
  await publishLog(service.actions, published)
  const verified = await verify()
  expect(verified).toMatch(/good {2}entry: 2: snapshot/)
  expect(verified).toContain('0 minutes ago')
  service.clock.advance(61 * minuteMs)
  expect(await verify('--max-age', '60')).toContain('BAD   newest entry: is from')
})
