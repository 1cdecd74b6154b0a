/** Every page of the site, in the order of the index for agents. */
import { memoizeByReads } from '../cache/memoize.ts'
import type { World } from '../world/world.ts'
import { changelogPage } from './changelog.ts'
import { articlePage, deskPage } from './desk.ts'
import { contactPage } from './docs/contact.ts'
import { costPage } from './docs/cost.ts'
import { errorsPage } from './docs/errors.ts'
import { docsPage } from './docs/front.ts'
import { limitsPage } from './docs/limits.ts'
import { mcpPage } from './docs/mcp.ts'
import { modelsPage } from './docs/models.ts'
import { payingPage } from './docs/paying.ts'
import { receiptsGuide } from './docs/receipts.ts'
import { referencePage } from './docs/reference.ts'
import { reputationGuide } from './docs/reputation.ts'
import { signingPage } from './docs/signing.ts'
import { tryPage } from './docs/try.ts'
import { verifyingPage } from './docs/verifying.ts'
import { missingPage, unavailablePage } from './error-pages.ts'
import { feedsPage } from './feeds-page.ts'
import { flagsPage } from './flags.ts'
import { homePage } from './home.ts'
import { jobPages, jobsPage } from './jobs.ts'
import { arbitragePage, opportunitiesPage } from './money-pages.ts'
import { pactPages } from './pact.ts'
import { pactsPage } from './pacts.ts'
import type { SitePage } from './page.ts'
import { partnerPages, partnersPage } from './partners.ts'
import { leaderboardPage, workerPages, workersPage } from './people.ts'
import { shownRails } from './rail-parts.ts'
import { railPage } from './rail.ts'
import { receiptPages, receiptsPage } from './receipts.ts'
import { skillsPage } from './skills.ts'
import { statusPage } from './status.ts'
import { viewPagesOf } from './views.ts'

/** One page each. */
const singlePages: readonly ((world: World) => SitePage)[] = [
  homePage,
  opportunitiesPage,
  arbitragePage,
  leaderboardPage,
  workersPage,
  receiptsPage,
  jobsPage,
  pactsPage,
  flagsPage,
  deskPage,
  skillsPage,
  partnersPage,
  statusPage,
  docsPage,
  referencePage,
  modelsPage,
  signingPage,
  verifyingPage,
  receiptsGuide,
  reputationGuide,
  payingPage,
  errorsPage,
  limitsPage,
  mcpPage,
  tryPage,
  costPage,
  contactPage,
  changelogPage,
  feedsPage,
  missingPage,
  unavailablePage,
]

/** Many of a kind. */
const pageKinds: readonly ((world: World) => Iterable<SitePage>)[] = [
  (world) => shownRails(world).map((rail) => railPage(rail, world)),
  (world) => world.articles.map((article) => articlePage(article, world)),
  pactPages,
  jobPages,
  workerPages,
  receiptPages,
  partnerPages,
  viewPagesOf,
]

/** For one world after the other: pages are described again where a part of the world that they read is another. */
export function createPages(): (world: World) => readonly SitePage[] {
  const kinds = [
    ...singlePages.map((page) => memoizeByReads((world: World) => [page(world)])),
    ...pageKinds.map((kind) => memoizeByReads((world: World) => [...kind(world)])),
  ]
  return (world) => kinds.flatMap((kind) => kind(world))
}
