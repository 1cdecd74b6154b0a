/**
 * Which tests can run on a machine. Where the checks of the project run as a whole, nothing is left out: what is missing
 * is a failure there, and the tests run and say so.
 */
import { spawnSync } from 'node:child_process'

export const leavesNothingOut = process.env['CI'] === 'true'

/** Whether the tests that start a program can run here. */
export function isRunnable(program: string): boolean {
  return leavesNothingOut || spawnSync(program, ['-h'], { stdio: 'ignore' }).error === undefined
}
