/** Loaded with `--import`: kills the process before file operation `KILL_AT`, and prints the number of operations. */
import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const killAt = Number(process.env['KILL_AT'] ?? 'Infinity')
let count = 0

function step(): void {
  count += 1
  if (count === killAt) process.kill(process.pid, 'SIGKILL')
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
        step()
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
process.once('exit', () => process.stdout.write(`operations: ${count}\n`))
