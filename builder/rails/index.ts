import type { AnyRailAdapter } from './adapter.ts'
import { evmRails } from './evm-rails.ts'
import { httpRails } from './http-rails.ts'

/** Every rail that is polled, in the order in which a full round asks them. The others are audited by hand. */
export const railAdapters: readonly AnyRailAdapter[] = [...evmRails, ...httpRails]
