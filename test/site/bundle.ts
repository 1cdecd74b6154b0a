/** Bundles the check of the log, which `/verify` runs. */
import { execFileSync } from 'node:child_process'

export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'browser'], { stdio: 'inherit' })
}
