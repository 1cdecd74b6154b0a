import { spawnSync } from 'node:child_process'

import { createHolder } from '../../src/db/holder.ts'

/** The holder of a process of this machine that has ended. */
export function endedHolder(): string {
  return createHolder().replace(` ${process.pid} `, ` ${spawnSync('true').pid} `)
}
