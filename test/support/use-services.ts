import { afterEach, beforeAll } from 'vitest'

import type { PublicDocument } from '../../builder/publish/document.ts'
import { publicDir, sampleDocuments, startService } from './http-service.ts'
import type { PublicDir, Service } from './http-service.ts'

type ServiceOptions = Parameters<typeof startService>[1]

export interface UsedServices {
  readonly published: PublicDir
  /** Starts a service on the published documents; it ends with the test. */
  readonly start: (options?: ServiceOptions) => Promise<Service>
}

/** Publishes documents once for the file, for tests that start services with options of their own. */
export function useServices(documents: readonly PublicDocument[] = sampleDocuments): UsedServices {
  let published: PublicDir
  const running = new Set<Service>()
  beforeAll(async () => {
    published = await publicDir()
    if (documents.length > 0) await published.publish(documents)
    return () => published.remove()
  })
  afterEach(async () => {
    for (const service of running) await service.stop()
  })
  return {
    get published() {
      return published
    },
    start: async (options) => {
      const started = await startService(published.dir, options)
      const service: Service = {
        ...started,
        stop: async () => {
          running.delete(service)
          await started.stop()
        },
      }
      running.add(service)
      return service
    },
  }
}
