import type { AnyRailAdapter } from './adapter.ts'
import { evmRails } from './evm-rails.ts'
import { httpRails } from './http-rails.ts'

/** Every polled rail, in the order of a full round. The other rails are audited by hand. */
export const railAdapters: readonly AnyRailAdapter[] = [...evmRails, ...httpRails]
