import type { Reporter, TestModule, Vitest } from 'vitest/node'

const isCi = process.env['CI'] === 'true'

/**
 * Prints every skipped test, and `N passed, N failed` as the last line. With CI set, a test that is skipped without a
 * reason is a failure. Tests that `-t` leaves out do not count.
 */
export default class CountReporter implements Reporter {
  #pattern: RegExp | undefined

  onInit(vitest: Vitest): void {
    this.#pattern = vitest.config.testNamePattern
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandled.length, skipped: 0 }
    for (const module of modules) {
      counts.failed += module.errors().length
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const result = test.result()
        const isSelected = this.#pattern?.test(test.fullName.replaceAll(' > ', ' ')) ?? true
        if (result.state === 'pending' || !isSelected) continue
        if (result.state === 'skipped') {
          const reason = result.note ?? 'its program is not installed'
          const name = `${module.relativeModuleId}: ${test.fullName}`
          process.stdout.write(`Skipped: ${name} (${reason})\n`)
          counts[result.note === undefined && isCi ? 'failed' : 'skipped'] += 1
        } else counts[result.state] += 1
      }
    }
    const { passed, failed, skipped } = counts
    if (failed > 0) process.exitCode = 1
    process.once('exit', () => {
      const rest = skipped > 0 ? `, ${skipped} skipped` : ''
      process.stdout.write(`${passed} passed, ${failed} failed${rest}\n`)
    })
  }
}
