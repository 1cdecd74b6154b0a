/** Returns an object whose other members a hook of the test file assigns before the first test. */
export function filledByHook<Members extends object>(members: Partial<Members> = {}): Members {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- complete before the first test
  return members as Members
}
