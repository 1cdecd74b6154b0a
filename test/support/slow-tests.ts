import { vi } from 'vitest'

/** For tests that start processes or make thousands of signatures, on a machine that may be busy. */
export const slowTestMs = 300_000

/** Gives the tests and hooks of the calling file `slowTestMs`. To be called before the first test, with the reason. */
export function allowSlowTests(_reason: string): void {
  vi.setConfig({ testTimeout: slowTestMs, hookTimeout: slowTestMs })
}
