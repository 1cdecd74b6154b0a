/** Bundles what pages run in the browser. */
import { execFileSync } from 'node:child_process'

export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'browser'], { stdio: 'inherit' })
}
