import type { Log } from '../../src/core/deps.ts'

const ignore = (): void => {}
export const quietLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
