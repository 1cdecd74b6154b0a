import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { exportIfDue } from '../../../builder/export/export.ts'
import { createBucket } from '../../../builder/publish/store/bucket.ts'
import { createHistory } from '../../../builder/world/history.ts'
import { loadExchangeKeys } from '../../../src/auth/exchange-keys.ts'
import { exportPartKey } from '../../../src/core/documents.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase, tempFolder } from '../../db/temp-database.ts'
import { quietLog } from '../../support/quiet-log.ts'
import { noGateway, openBucket, useGateway } from '../../support/s3/gateway.ts'
import { smallWorld, worldNowMs } from '../../support/world.ts'

describe.skipIf(noGateway !== null)('exporting to an object store', () => {
  const gateway = useGateway()

  test('the parts of each file in the bucket have its size and hash, and old ones are removed', async () => {
    const objects = openBucket(await gateway.newBucket())
    const database = await tempDatabase()
    const { signingKeys, site } = smallWorld()
    const keysDir = tempFolder()
    const options = {
      database,
      history: createHistory(database.reader),
      dataDir: 'data',
      adapters: [],
      site,
      pollEveryMs: 6 * hourMs,
      publicKeys: signingKeys,
      exchangeKeys: () => loadExchangeKeys(keysDir, { bytes: randomBytes }),
      store: createBucket({ objects, fence: 1, log: quietLog }),
      dir: join(tempFolder(), 'export'),
      check: () => Promise.resolve(),
      isDemo: false,
      signal: new AbortController().signal,
    }
    const lists = []
    for (const day of [0, 1, 2]) {
      lists.push(await exportIfDue({ ...options, nowMs: worldNowMs + day * dayMs }))
    }
    const files = lists.slice(1).flatMap((list) => list?.files ?? [])
    expect(files).toHaveLength(46)
    const named = new Set<string>()
    for (const { sha256, size } of files) {
      const parts: Buffer[] = []
      for (let part = 0; Buffer.concat(parts).length < size; part += 1) {
        const key = exportPartKey(sha256, part)
        const found = await objects.get(key)
        if (found === null) throw new Error(`${key} is missing`)
        named.add(key)
        parts.push(found.bytes)
      }
      const bytes = Buffer.concat(parts)
      expect([bytes.length, createHash('sha256').update(bytes).digest('hex')]).toEqual([
        size,
        sha256,
      ])
    }
    expect(new Set((await objects.list('export/')).keys())).toEqual(named)
  })
})
