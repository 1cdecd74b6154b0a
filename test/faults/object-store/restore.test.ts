/** The disk is lost, and the published log is in a bucket. */
import { existsSync } from 'node:fs'

import { describe, expect, onTestFinished, test } from 'vitest'

import { installBoardProgram } from '../../e2e/board.ts'
import { newLedger, useProgram } from '../../e2e/ledger.ts'
import { expectBuilt, expectLonger, follow, lostLedger, runbook } from '../../e2e/runbook.ts'
import { credentials, noGateway, openBucket, useGateway } from '../../support/s3/gateway.ts'
import { pointer } from '../../support/s3/read-bucket.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts the compiled program')

const leftOut = noGateway === null ? '' : ` (left out: ${noGateway})`

describe.skipIf(noGateway !== null)(`a restore with an object store${leftOut}`, () => {
  const program = useProgram(installBoardProgram)
  const gateway = useGateway()

  test('a ledger on a new disk reads its log from the bucket and continues with a higher version', async () => {
    const address = await gateway.newBucket()
    const objects = openBucket(address)
    const versionNow = async () => {
      const { bytes } = (await objects.get('current.json')) ?? { bytes: Buffer.from('') }
      return pointer.parse(JSON.parse(bytes.toString())).version
    }
    const settings = {
      POLL: 'off',
      PUBLISH_URL: `s3://${address.bucket}/ledger?endpoint=${gateway.endpoint}&region=us-east-1`,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    }
    const { ledger, root, seenLast } = await lostLedger(program, settings)
    onTestFinished(ledger.remove)
    expect(existsSync(ledger.publicDir)).toBe(false)
    const version = await versionNow()

    const restored = newLedger(program, settings)
    onTestFinished(restored.remove)
    await follow(program, restored, root, runbook.restore)
    await expectBuilt(restored)
    expect(await versionNow()).toBeGreaterThan(version)
    await expectLonger(restored, seenLast)
  })
})
