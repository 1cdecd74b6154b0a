/** `<database> <public> <round>`: queues the entries of a round, sequences and publishes them. */
import { noteSigner } from '../../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { queueEntries } from '../../../src/db/log.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { beginLog, localDirectory, localLog } from '../../support/publish-log.ts'

const [url = '', publicDir = '', round = '0'] = process.argv.slice(2)
const key = signingKeyFromSeed(new Uint8Array(32).fill(3))
const signer = noteSigner('ledger.test/log', key)
const database = await openDatabase({ url })
const entries = Array.from({ length: 130 }, (_, at) => ({
  kind: 'receipt' as const,
  id: `rcp_${round}_${at}`,
  sha256: 'ab'.repeat(32),
}))
await database.write((tx) => queueEntries(tx, entries))
process.stdout.write('queued\n')
await beginLog(database, signer)
await localLog({ database, files: localDirectory(publicDir), signer }).grow()
await database.close()
