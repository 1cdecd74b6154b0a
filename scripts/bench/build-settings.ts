import { railAdapters } from '../../builder/rails/index.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { version } from '../../src/contract/version.ts'
import { hourMs } from '../../src/core/time.ts'

const silent = () => undefined

export const silentLog = { debug: silent, info: silent, warn: silent, error: silent } as const

export const buildSettings = {
  adapters: railAdapters,
  site: {
    url: 'https://ledger.test',
    serviceName: 'agent-income-ledger',
    version,
    historyUrl: null,
    payments: { settlement: 'off', receiver: null },
  },
  pollEveryMs: 6 * hourMs,
  exchangeKeys: () =>
    Promise.resolve({ active: signingKeyFromSeed(Buffer.alloc(32, 7)), retired: [] }),
} as const
