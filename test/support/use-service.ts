import { afterEach, beforeAll, beforeEach } from 'vitest'

import type { PublicDocument } from '../../builder/publish/document.ts'
import { filledByHook } from './filled-by-hook.ts'
import { publicDir, sampleDocuments, startService } from './http-service.ts'
import type { PublicDir, Service } from './http-service.ts'
import { requestJson } from './requests.ts'
import type { JsonAnswer, JsonRequest } from './requests.ts'

type Headers = Readonly<Record<string, string>>

type JsonResponse = Pick<JsonAnswer, 'status' | 'body'>

export interface UsedService extends Service {
  readonly published: PublicDir
  /** Stops the service and starts another one on the same documents. */
  readonly restart: (options: ServiceOptions) => Promise<void>
  /** Sends a GET to a path from the root of the site. */
  readonly getJson: (path: string, headers?: Headers) => Promise<JsonResponse>
  /** Sends a POST with a JSON body. */
  readonly postJson: (path: string, body: object, headers?: Headers) => Promise<JsonResponse>
}

interface UseServiceOptions {
  readonly documents?: readonly PublicDocument[]
  readonly publishedAtMs?: number
  /** One service for each test, or for all tests of the file. */
  readonly per?: 'test' | 'file'
  /** Called for each service. */
  readonly options?: () => ServiceOptions | Promise<ServiceOptions>
}
type ServiceOptions = Parameters<typeof startService>[1]

/** Publishes documents once and runs a service on them. */
export function useService(given: UseServiceOptions = {}): UsedService {
  const { documents = sampleDocuments, publishedAtMs, per = 'test', options = () => ({}) } = given
  const published = usePublished(documents, publishedAtMs)
  let running: Service
  const start = async (changes: ServiceOptions): Promise<void> => {
    running = await startService(published.dir, changes)
    Object.assign(service, running)
  }
  const call = async (path: string, request: JsonRequest) => {
    const { status, body } = await requestJson(service, path, request)
    return { status, body }
  }
  const service = filledByHook<UsedService>({
    published,
    restart: async (changed) => {
      await running.stop()
      await start(changed)
    },
    getJson: (path, headers = {}) => call(path, { headers }),
    postJson: (path, body, headers = {}) => call(path, { body, headers }),
  })
  const beforeService = per === 'test' ? beforeEach : beforeAll
  beforeService(async () => {
    await start(await Promise.resolve(options()))
    return () => running.stop()
  })
  return service
}

function usePublished(documents: readonly PublicDocument[], publishedAtMs?: number): PublicDir {
  const published = filledByHook<PublicDir>()
  beforeAll(async () => {
    Object.assign(published, await publicDir())
    if (documents.length > 0) await published.publish(documents, publishedAtMs)
    return () => published.remove()
  })
  return published
}

interface UsedServices {
  readonly published: PublicDir
  /** Starts a service that ends with the test. */
  readonly start: (options?: ServiceOptions) => Promise<Service>
}

/** Publishes documents once for tests that start services with their own options. */
export function useServices(documents: readonly PublicDocument[] = sampleDocuments): UsedServices {
  const published = usePublished(documents)
  const running = new Set<Service>()
  afterEach(async () => {
    for (const service of running) await service.stop()
  })
  return {
    published,
    start: async (options) => {
      const started = await startService(published.dir, options)
      const stop = async () => {
        running.delete(service)
        await started.stop()
      }
      const service = { ...started, stop }
      running.add(service)
      return service
    },
  }
}
