/**
 * Loaded with `--import`: kills the process before file operation `KILL_AT`, or pauses it before `PAUSE_AT`, and prints
 * the numbers of operations.
 * `+n` is the n-th operation after the rename to `current`, `+0` the rename.
 */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const killAt = process.env['KILL_AT']
const pauseAt = process.env['PAUSE_AT']
let count = 0
let afterSwitch = Number.NEGATIVE_INFINITY

function step(renamedTo: unknown): void {
  count += 1
  afterSwitch = String(renamedTo).endsWith('/current') ? 0 : afterSwitch + 1
  if ([String(count), `+${afterSwitch}`].includes(String(killAt))) {
    process.kill(process.pid, 'SIGKILL')
  }
  if (String(count) === pauseAt) {
    process.stdout.write('paused\n')
    process.kill(process.pid, 'SIGSTOP')
  }
}

/** Replaces functions of a module by functions that count their calls. */
function hook<Name extends string>(
  module: Readonly<Record<Name, object>>,
  ...names: readonly Name[]
): void {
  for (const name of names) {
    const real = module[name]
    if (typeof real !== 'function') continue
    const counted = new Proxy(real, {
      apply: (target, thisArg, args) => {
        step(name === 'rename' ? args[1] : null)
        const answer: unknown = Reflect.apply(target, thisArg, args)
        return answer
      },
    })
    Object.assign(module, { [name]: counted })
  }
}

hook(fs, 'linkSync', 'unlinkSync', 'writeFileSync', 'renameSync', 'mkdirSync')
hook(fs.promises, 'open', 'rename', 'rm', 'link', 'symlink', 'mkdir', 'writeFile')
hook(childProcess, 'execFile')
syncBuiltinESMExports()
process.once('exit', () =>
  process.stdout.write(`operations: ${count}, after the switch: ${afterSwitch}\n`),
)
