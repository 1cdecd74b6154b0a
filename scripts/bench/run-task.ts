/** `<name> <arguments as JSON>`: runs a task and sends its sample to the parent process. */
import { z } from 'zod'

import { tasks } from './tasks/index.ts'
import type { TaskName } from './tasks/index.ts'

const [name, json = ''] = process.argv.slice(2)
const isName = (text: unknown): text is TaskName => Object.hasOwn(tasks, String(text))
if (!isName(name)) throw new Error(`there is no task ${name}`)
const { run } = await tasks[name]()
const sample: unknown = await Reflect.apply(
  run,
  undefined,
  z.array(z.json()).parse(JSON.parse(json)),
)
process.send?.(sample)
