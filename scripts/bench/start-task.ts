import { fork } from 'node:child_process'
import { on } from 'node:events'

import { z } from 'zod'

import type { Sample } from './samples.ts'
import type { TaskArguments, TaskName } from './tasks/index.ts'

export interface Task {
  /** Resolves at the next pause of the task, or with its sample. */
  readonly next: () => Promise<Sample>
  /** Resumes the task after a pause. */
  readonly go: () => void
}

const message = z.record(z.string(), z.union([z.number(), z.string()]))

export function startTask<Name extends TaskName>(name: Name, ...args: TaskArguments<Name>): Task {
  const child = fork(new URL('./run-task.js', import.meta.url), [name, JSON.stringify(args)])
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
