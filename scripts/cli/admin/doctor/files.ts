import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'

import { loadKeys } from '../../../../src/auth/service-keys.ts'
import { fileExists } from '../../files.ts'
import { bad, good } from './check.ts'
import type { DoctorCheck } from './check.ts'

const OTHERS = 0o077

export const fileChecks: readonly DoctorCheck[] = [
  {
    what: 'signing keys',
    remedy:
      'If other users can read the key, run the command in the detail and then `admin keys rotate`, since the key may be known. If the key is missing or damaged, restore DATA_DIR/keys from its backup, since readers do not know a new key.',
    run: async ({ config, nowMs }) => {
      const dir = join(config.DATA_DIR, 'keys')
      const path = join(dir, 'signing-keys.json')
      if (!fileExists(path)) return bad(`${path} is missing`)
      try {
        const { signer, publicKeys } = await loadKeys({ dir, nowMs })
        return good(`${signer.kid} signs, ${publicKeys.keys.length - 1} retired`)
      } catch (error) {
        return bad(error instanceof Error ? error.message : String(error))
      }
    },
  },
  {
    what: 'secrets',
    remedy:
      'Run `chmod 600` on files that other users can read, and replace their secrets: `admin keys rotate-exchange` for the job exchange; move the funds of a settling wallet to a new wallet. Restore a missing hash.key from its backup.',
    run: async ({ config }) => {
      const secrets = join(config.DATA_DIR, 'secrets')
      const exchange = join(config.DATA_DIR, 'keys')
      const settler = config.SETTLER_KEY_FILE
      const paths = [
        ...(await filesIn(secrets)),
        ...(await filesIn(exchange)).filter((path) => path.includes('job-exchange')),
        ...(settler === null ? [] : [settler]),
      ]
      if (!paths.includes(join(secrets, 'hash.key'))) return bad(`${secrets}/hash.key is missing`)
      for (const path of paths) {
        const found = await stat(path).catch(() => null)
        if (found === null) return bad(`${path} is missing`)
        const mode = found.mode & 0o777
        if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
          return bad(`${path} has mode ${mode.toString(8)}`)
        }
      }
      return good(`${paths.length} files, each readable by its owner only`)
    },
  },
  {
    what: 'free disk space',
    remedy:
      'Delete old backups, `*.before-restore-*` or system logs. Writes are refused while the disk is full; no acknowledged write is lost.',
    run: async ({ config, minFreeBytes }) => {
      const details: string[] = []
      let isEnough = true
      for (const path of [config.DATA_DIR, config.PUBLIC_DIR]) {
        const { bavail, bsize, ffree, files } = await statfs(path)
        const free = bavail * bsize
        // Some file systems have no fixed number of inodes and report 0 for both.
        isEnough &&= free >= minFreeBytes && (files === 0 || ffree > 1000)
        details.push(`${path}: ${Math.floor(free / 2 ** 20)} MiB free`)
      }
      return isEnough ? good(details.join(', ')) : bad(details.join(', '))
    },
  },
]

async function filesIn(dir: string): Promise<readonly string[]> {
  return (await readdir(dir).catch(() => [])).map((name) => join(dir, name))
}
