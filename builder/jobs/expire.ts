import type { ExchangeKeys } from '../../src/auth/exchange-keys.ts'
import type { Clock } from '../../src/core/deps.ts'
import { acceptUnanswered } from '../../src/db/jobs/acceptance.ts'
import { expireJobs } from '../../src/db/jobs/deadlines.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { expireSubscriptions } from '../../src/db/partners/subscription.ts'
import { lastRuns } from '../../src/db/runs.ts'
import type { JobResult } from './run-job.ts'

interface ExpireDeps {
  readonly database: OpenDatabase
  readonly clock: Pick<Clock, 'now'>
  readonly buildOptions: {
    readonly exchangeKeys: () => Promise<ExchangeKeys>
    readonly site: { readonly url: string }
  }
}

/** Applies deadlines of jobs, of unanswered deliveries and of subscriptions. */
export async function expire({ database, clock, buildOptions }: ExpireDeps): Promise<JobResult> {
  const nowMs = clock.now()
  const jobs = await expireJobs(database, nowMs)
  const { active: key } = await buildOptions.exchangeKeys()
  const siteUrl = buildOptions.site.url
  const accepted = await acceptUnanswered(database, { key, siteUrl, nowMs })
  const subscriptions = await database.write((tx) => expireSubscriptions(tx, nowMs))
  const hadFailed = (await lastRuns(database.reader)).get('expire')?.outcome === 'failed'
  return {
    detail: `${jobs} jobs expired, ${accepted} unanswered deliveries accepted, ${subscriptions} subscriptions expired`,
    quiet: jobs + accepted + subscriptions === 0 && !hadFailed,
  }
}
