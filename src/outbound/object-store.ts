/** The calls of an S3-compatible object store that the ledger needs. */
import { createHash } from 'node:crypto'

import { AwsClient } from 'aws4fetch'

import type { Clock, Fetch } from '../core/deps.ts'
import { isoTime, secondMs } from '../core/time.ts'
import { readLimited } from './read-limited.ts'
import { outageText, withTimeout } from './timeout.ts'

export interface Bucket {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Empty, or with a slash at the end. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface ObjectStore {
  /** Null for a missing object. `etag` includes its quotes. */
  readonly get: (key: string) => Promise<{ readonly bytes: Buffer; readonly etag: string } | null>
  /** Returns false if the object does not meet a condition in `headers`. The store checks the MD5 of the bytes. */
  readonly put: (
    key: string,
    bytes: Uint8Array,
    headers: Readonly<Record<string, string>>,
  ) => Promise<boolean>
  readonly remove: (key: string) => Promise<void>
  /** Times of the last change by key, in Unix milliseconds on the clock of the store. */
  readonly list: (prefix: string) => Promise<ReadonlyMap<string, number>>
}

/** The message contains no address. */
export class ObjectStoreError extends Error {
  override readonly name = 'ObjectStoreError'
}

const attemptMs = 15 * secondMs
/** Far above the largest document; parts of the export have half a MiB. */
const maxObjectBytes = 64 * 1024 * 1024
const firstPauseMs = 100
const maxPauseMs = 5 * secondMs
/** Statuses that depend on the object. Requests with other statuses are repeated. */
const finalStatuses: readonly number[] = [200, 204, 404, 412]

/** @param patienceMs failed requests are repeated for this time. @throws ObjectStoreError from all calls */
export function createObjectStore(
  { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey }: Bucket,
  deps: { fetch: Fetch; clock: Clock; patienceMs: number; signal?: AbortSignal },
): ObjectStore {
  const { fetch, clock, patienceMs, signal } = deps
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: 's3', region })

  async function call(path: string, init: RequestInit) {
    const url = `${endpoint}/${bucket}${path}`
    const timeoutMs = Math.min(attemptMs, patienceMs)
    const endMs = clock.monotonic() + patienceMs
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, 2 * pauseMs)) {
      let problem: string
      try {
        const answer = await withTimeout({ timeoutMs, signal }, async (limited) => {
          const datetime = isoTime(clock.now()).replaceAll(/[:-]|\.\d+/g, '')
          const { headers } = await client.sign(url, { ...init, aws: { datetime } })
          const response = await fetch(url, { ...init, headers, signal: limited })
          const etag = response.headers.get('etag') ?? ''
          const bytes = Buffer.from(await readLimited(response, maxObjectBytes))
          return { status: response.status, etag, bytes }
        })
        if (finalStatuses.includes(answer.status)) return answer
        problem = `answered ${answer.status} ${elementOf(answer.bytes.toString(), 'Code')}`
      } catch (error) {
        signal?.throwIfAborted()
        problem = outageText(error)
      }
      if (clock.monotonic() + pauseMs >= endMs) {
        throw new ObjectStoreError(`the object store ${problem}`)
      }
      await clock.sleep(pauseMs, signal)
    }
  }

  return {
    get: async (key) => {
      const answer = await call(`/${prefix}${key}`, { method: 'GET' })
      return answer.status === 200 ? answer : null
    },
    put: async (key, bytes, given) => {
      const headers = { ...given, 'content-md5': createHash('md5').update(bytes).digest('base64') }
      const init = { method: 'PUT', body: Buffer.from(bytes), headers }
      const { status } = await call(`/${prefix}${key}`, init)
      // AWS answers 404 if `If-Match` names a missing object.
      if (status !== 404 || 'if-match' in given) return status === 200
      throw new ObjectStoreError('the object store has no such bucket')
    },
    remove: async (key) => void (await call(`/${prefix}${key}`, { method: 'DELETE' })),
    list: async (below) => {
      const objects = new Map<string, number>()
      const query = new URLSearchParams({ 'list-type': '2', prefix: prefix + below })
      let token = ''
      do {
        const text = (await call(`?${query.toString()}`, { method: 'GET' })).bytes.toString()
        for (const [, object = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const key = elementOf(object, 'Key').slice(prefix.length)
          objects.set(key, Date.parse(elementOf(object, 'LastModified')))
        }
        token = elementOf(text, 'NextContinuationToken')
        query.set('continuation-token', token)
      } while (token !== '')
      return objects
    },
  }
}

/** The ledger's own keys need no unescaping. */
function elementOf(xml: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1] ?? ''
}
