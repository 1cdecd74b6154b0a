import { beforeAll, beforeEach } from 'vitest'

import type { PublicDocument } from '../../builder/publish/document.ts'
import { publicDir, sampleDocuments, startService } from './http-service.ts'
import type { PublicDir, Service } from './http-service.ts'
import { requestJson } from './requests.ts'
import type { JsonAnswer, JsonRequest } from './requests.ts'

type Headers = Readonly<Record<string, string>>

type JsonResponse = Pick<JsonAnswer, 'status' | 'body'>

/** The service of the running test. */
export interface UsedService extends Service {
  readonly published: PublicDir
  /** Stops the service and starts another on the same documents. */
  readonly restart: (options: ServiceOptions) => Promise<void>
  /** GET of a path from the root of the site; the answer is a JSON object. */
  readonly getJson: (path: string, headers?: Headers) => Promise<JsonResponse>
  /** POST of a JSON body; the answer is a JSON object. */
  readonly postJson: (path: string, body: object, headers?: Headers) => Promise<JsonResponse>
}

interface UseServiceOptions {
  readonly documents?: readonly PublicDocument[]
  /** Time of publication. */
  readonly publishedAtMs?: number
  /** One service for each test, or one for all tests of the file. */
  readonly per?: 'test' | 'file'
  /** Made anew for each service. */
  readonly options?: () => ServiceOptions | Promise<ServiceOptions>
}
type ServiceOptions = Parameters<typeof startService>[1]

/** Publishes documents once and runs a service on them for each test of the file or `describe`, or for all of them. */
export function useService(given: UseServiceOptions = {}): UsedService {
  const { documents = sampleDocuments, publishedAtMs, per = 'test', options = () => ({}) } = given
  let published: PublicDir
  let service: Service
  beforeAll(async () => {
    published = await publicDir()
    if (documents.length > 0) await published.publish(documents, publishedAtMs)
    return () => published.remove()
  })
  const beforeService = per === 'test' ? beforeEach : beforeAll
  beforeService(async () => {
    service = await startService(published.dir, await Promise.resolve(options()))
    return () => service.stop()
  })
  const call = async (path: string, request: JsonRequest) => {
    const { status, body } = await requestJson(service, path, request)
    return { status, body }
  }
  return {
    get published() {
      return published
    },
    get server() {
      return service.server
    },
    get address() {
      return service.address
    },
    get url() {
      return service.url
    },
    get app() {
      return service.app
    },
    get store() {
      return service.store
    },
    get clock() {
      return service.clock
    },
    get views() {
      return service.views
    },
    get actions() {
      return service.actions
    },
    restart: async (changed) => {
      await service.stop()
      service = await startService(published.dir, changed)
    },
    lines: () => service.lines(),
    stop: () => service.stop(),
    getJson: (path, headers = {}) => call(path, { headers }),
    postJson: (path, body, headers = {}) => call(path, { body, headers }),
  }
}
