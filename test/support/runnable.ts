/** In CI no test is skipped: a missing program fails its tests. */
import { spawnSync } from 'node:child_process'

export const leavesNothingOut = process.env['CI'] === 'true'

export function isRunnable(program: string): boolean {
  return leavesNothingOut || spawnSync(program, ['-h'], { stdio: 'ignore' }).error === undefined
}
