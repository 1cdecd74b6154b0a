import { join } from 'node:path'

import { headOf } from '../../../../builder/archive/git-tree.ts'
import { GitError, GitMissingError, runGit } from '../../../../builder/archive/git.ts'
import { newestPublication } from '../../../../src/db/publications.ts'
import { openPublication, verifyAlone } from '../../published-set.ts'
import { bad, good } from './check.ts'
import type { DoctorCheck } from './check.ts'

export const publishedChecks: readonly DoctorCheck[] = [
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
