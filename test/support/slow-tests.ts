import { vi } from 'vitest'

const slowTestMs = 300_000

/** Sets `slowTestMs` for the tests and hooks of the file. Call it before the first test, with the reason. */
export function allowSlowTests(_reason: string): void {
  vi.setConfig({ testTimeout: slowTestMs, hookTimeout: slowTestMs })
}
