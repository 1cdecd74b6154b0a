import { fork } from 'node:child_process'
import { on } from 'node:events'
import { join } from 'node:path'

import { z } from 'zod'

import { packageRoot } from '../../src/runtime/runtime.ts'
import type { Sample } from './samples.ts'
import type { TaskArguments, TaskName } from './tasks/index.ts'

export interface Task {
  /** Resolves at the next pause of the task, or with its sample. */
  readonly next: () => Promise<Sample>
  /** Resumes the task after a pause. */
  readonly go: () => void
}

/** The bundle of a program in `scripts/bench`. */
export function benchProgram(name: string): string {
  return join(packageRoot, `dist/scripts/bench/${name}.js`)
}

const message = z.record(z.string(), z.union([z.number(), z.string()]))

export function startTask<Name extends TaskName>(name: Name, ...args: TaskArguments<Name>): Task {
  const child = fork(benchProgram('run-task'), [name, JSON.stringify(args)])
  const messages = on(child, 'message', { close: ['exit'] })
  return {
    next: async () => {
      const next: IteratorResult<readonly unknown[], unknown> = await messages.next()
      if (next.done === true) throw new Error(`the task ${name} ended early`)
      return message.parse(next.value[0])
    },
    go: () => void child.send('go'),
  }
}

export async function runTask<Name extends TaskName>(
  name: Name,
  ...args: TaskArguments<Name>
): Promise<Sample> {
  return await startTask(name, ...args).next()
}
