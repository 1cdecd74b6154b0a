/** Compiles the program once before a suite. Tests copy the result (`installProgram`). */
import type { TestProject } from 'vitest/node'

import { compile } from './compile.ts'

const files = [
  'scripts/demo.ts',
  'test/support/kill-hook.ts',
  'test/support/lock-hook.ts',
  'test/support/pid-hook.ts',
  'test/support/test-clock.ts',
  'test/builder/publish/publish-child.ts',
  'test/faults/database/lock-child.ts',
  'test/soak/empty-server-child.ts',
  'test/support/clients-child.ts',
  'test/support/heap-hook.ts',
]

export function setup(project: TestProject): () => void {
  const { dir, remove } = compile(...files)
  project.provide('compiledProgram', dir)
  return remove
}

declare module 'vitest' {
  interface ProvidedContext {
    compiledProgram: string
  }
}
