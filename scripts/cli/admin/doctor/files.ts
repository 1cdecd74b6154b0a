/** What lies beside the database: keys, secrets, and room on the disks. */
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'

import { loadKeys } from '../../../../builder/publish/keys.ts'
import { bad, well } from './check.ts'
import type { DoctorCheck } from './check.ts'

const OTHERS = 0o077

export const fileChecks: readonly DoctorCheck[] = [
  {
    what: 'signing keys',
    remedy:
      'Open to others: do what the detail says, then `admin keys rotate`, since others may have read it. Missing or damaged: put DATA_DIR/keys back from its own backup; a new key would be a stranger to readers.',
    look: async ({ config, nowMs }) => {
      const dir = join(config.DATA_DIR, 'keys')
      const path = join(dir, 'signing-keys.json')
      if (!(await isThere(path))) return bad(`${path} is missing`)
      try {
        const { signer, publicKeys } = await loadKeys({ dir, nowMs })
        return well(`${signer.kid} signs, ${publicKeys.keys.length - 1} retired`)
      } catch (error) {
        return bad(error instanceof Error ? error.message : String(error))
      }
    },
  },
  {
    what: 'secrets',
    remedy:
      '`chmod 600` what is open to others, and take it for known: `admin keys rotate-exchange` for the exchange; a settling wallet moves its money to a new one. A missing hash.key comes back from its backup only.',
    look: async ({ config }) => {
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
      return well(`${paths.length} files, each for its owner alone`)
    },
  },
  {
    what: 'room on the disks',
    remedy:
      'Make room: old backups, `*.before-restore-*`, `snapshots.git.broken-*`, logs of the system. Writes are refused where it runs out; nothing that was acknowledged is lost.',
    look: async ({ config, minFreeBytes }) => {
      const told: string[] = []
      let isEnough = true
      for (const path of [config.DATA_DIR, config.PUBLIC_DIR]) {
        const { bavail, bsize, ffree, files } = await statfs(path)
        const free = bavail * bsize
        // Some file systems have no fixed number of files, and say 0 of both.
        isEnough &&= free >= minFreeBytes && (files === 0 || ffree > 1000)
        told.push(`${path}: ${Math.floor(free / 2 ** 20)} MiB free`)
      }
      return isEnough ? well(told.join(', ')) : bad(told.join(', '))
    },
  },
]

async function filesIn(dir: string): Promise<readonly string[]> {
  return (await readdir(dir).catch(() => [])).map((name) => join(dir, name))
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}
