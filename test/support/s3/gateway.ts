/** A real S3 server: Ceph's RADOS gateway, started by `start-s3.sh`. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { AwsClient } from 'aws4fetch'
import { afterAll, beforeAll } from 'vitest'

import { createObjectStore } from '../../../src/outbound/object-store.ts'
import type { Bucket, ObjectStore } from '../../../src/outbound/object-store.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { isRunnable } from '../runnable.ts'
import { freePort } from '../server-process.ts'

export const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' }

/** The reason why no S3 server can be started here, or null. */
export const noGateway = isRunnable('radosgw')
  ? null
  : 'apt-get install -y --no-install-recommends radosgw ceph-mon ceph-osd'

const script = (name: string) => new URL(`${name}.sh`, import.meta.url).pathname
const execute = promisify(execFile)

export interface Gateway {
  readonly endpoint: string
  /** Creates a bucket with a new name. */
  readonly newBucket: () => Promise<Bucket>
}

/** Runs the server for all tests of the file. */
export function useGateway(): Gateway {
  const gateway = { endpoint: '' }
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ledger-s3-'))
    const { stdout } = await execute(script('start-s3'), [folder, String(await freePort())])
    gateway.endpoint = /S3_ENDPOINT=(\S+)/.exec(stdout)?.[1] ?? ''
  })
  afterAll(async () => {
    await execute(script('stop-s3'), [folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    get endpoint() {
      return gateway.endpoint
    },
    newBucket: async () => {
      const bucket = `ledger-${randomBytes(6).toString('hex')}`
      const region = 'us-east-1'
      const client = new AwsClient({ ...credentials, service: 's3', region })
      const made = await client.fetch(`${gateway.endpoint}/${bucket}`, { method: 'PUT' })
      if (!made.ok) throw new Error(`no bucket: ${made.status}`)
      return { endpoint: gateway.endpoint, region, bucket, prefix: 'ledger/', ...credentials }
    },
  }
}

export function openBucket(address: Bucket, patienceMs = 20_000): ObjectStore {
  return createObjectStore(address, { fetch, clock: systemClock, patienceMs })
}
