import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'

import { headOf } from '../../../../builder/archive/git-tree.ts'
import { GitError, GitMissingError, runGit } from '../../../../builder/archive/git.ts'
import { readKeys } from '../../../../src/auth/service-keys.ts'
import { newestPublication } from '../../../../src/db/publications.ts'
import { openPublication, verifyAlone } from '../../published-set.ts'
import { bad, good } from './check.ts'
import type { DoctorCheck } from './check.ts'

const OTHERS = 0o077

export const fileChecks: readonly DoctorCheck[] = [
  {
    what: 'signing keys',
    remedy:
      'If other users can read the key, run the command in the detail and then `admin keys rotate`, since the key may be known. If the key is missing or damaged, restore DATA_DIR/keys from its backup, since readers do not know a new key.',
    run: async ({ config }) => {
      try {
        const { signer, publicKeys } = await readKeys(join(config.DATA_DIR, 'keys'))
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
  {
    what: 'published set',
    remedy:
      'The next build writes missing and damaged files again; the service continues to serve the set in its memory. If the problem persists, the `build` job states the reason (here and in /api/v1/health).',
    mayChange: true,
    run: async ({ database, files }) => {
      if (database === null) return null
      const newest = await newestPublication(database.reader)
      if (newest === null) return bad('nothing is published yet')
      const checks = await verifyAlone(openPublication(files, newest))
      const broken = checks.find((one) => !one.good)
      return broken === undefined
        ? good(`${checks.length - 2} documents, each with a valid signature`)
        : bad(`${broken.what}: ${broken.detail}`)
    },
  },
  {
    what: 'snapshot repository',
    remedy:
      'Publishing continues without it. Stop the builder, rename DATA_DIR/snapshots.git and start the builder again: it continues the history of the remote, or begins a new one. Keep the broken repository, since its reflog, `git fsck` and a clone may recover its history.',
    mayChange: true,
    run: async ({ config }) => {
      const git = { repoDir: join(config.DATA_DIR, 'snapshots.git'), env: {}, remote: null }
      try {
        const head = await headOf(git)
        if (head === null) return bad('main has no commit')
        await runGit(git, ['fsck', '--full', '--strict', '--no-dangling'])
        return good(`every object is readable; the last commit is ${head.slice(0, 12)}`)
      } catch (error) {
        if (error instanceof GitMissingError) return good('git is not installed')
        if (error instanceof GitError) return bad(error.message)
        throw error
      }
    },
  },
]

async function filesIn(dir: string): Promise<readonly string[]> {
  return (await readdir(dir).catch(() => [])).map((name) => join(dir, name))
}
