/** Options of a build of the authored files and a database, without an archive elsewhere. */
import { join } from 'node:path'

import type { BuildOptions } from '../../builder/jobs/build.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { createHistory } from '../../builder/world/history.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { version } from '../../src/contract/version.ts'
import { hourMs } from '../../src/core/time.ts'
import { localDirectory } from './publish-log.ts'
import { quietLog } from './quiet-log.ts'

type BuildPlace = Pick<BuildOptions, 'database' | 'dataDir' | 'keys' | 'stateDir'>

export const firstExchangeKeys = {
  active: signingKeyFromSeed(Buffer.alloc(32, 7)),
  retired: [],
} as const

export function buildOptions(place: BuildPlace): Omit<BuildOptions, 'nowMs'> {
  const publicDir = join(place.stateDir, 'public')
  return {
    ...place,
    history: createHistory(place.database.reader),
    adapters: railAdapters,
    site: {
      url: 'https://ledger.test',
      serviceName: 'agent-income-ledger',
      version,
      historyUrl: null,
      payments: { settlement: 'off', receiver: null },
    },
    pollEveryMs: 6 * hourMs,
    exchangeKeys: () => Promise.resolve(firstExchangeKeys),
    store: localDirectory(publicDir),
    check: () => Promise.resolve(),
    assetsDir: null,
    repository: { remote: null, env: { PATH: process.env['PATH'] ?? '' } },
    log: quietLog,
    lastVersion: () => Promise.resolve(0),
  }
}
