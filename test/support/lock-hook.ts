/** Loaded with `--import`: blocks a build before it switches to its new set. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { symlink } = fs.promises

fs.promises.symlink = async (target, path, type) => {
  process.stdout.write('publishing is blocked\n')
  await new Promise(() => setInterval(() => undefined, 60_000))
  await symlink(target, path, type)
}
syncBuiltinESMExports()
