/** Every page of the site, in the order of the index for agents. */
import type { World } from '../world.ts'
import { changelogPage } from './changelog.ts'
import { articlePage, deskPage } from './desk.ts'
import { costPage } from './docs/cost.ts'
import { errorsPage } from './docs/errors.ts'
import { contactPage, docsPage, limitsPage, signingPage, verifyingPage } from './docs/guides.ts'
import { mcpPage } from './docs/mcp.ts'
import { modelsPage } from './docs/models.ts'
import { payingPage } from './docs/paying.ts'
import { receiptsGuide } from './docs/receipts.ts'
import { referencePage } from './docs/reference.ts'
import { reputationGuide } from './docs/reputation.ts'
import { tryPage } from './docs/try.ts'
import { feedsPage } from './feeds-page.ts'
import { flagsPage } from './flags.ts'
import { homePage } from './home.ts'
import { jobPages, jobsPage } from './jobs.ts'
import { arbitragePage, opportunitiesPage } from './money-pages.ts'
import { pactPages } from './pact.ts'
import { pactsPage } from './pacts.ts'
import type { Page } from './page.ts'
import { partnerPages, partnersPage } from './partners.ts'
import { leaderboardPage, workerPages, workersPage } from './people.ts'
import { shownRails } from './rail-parts.ts'
import { railPage } from './rail.ts'
import { receiptPages, receiptsPage } from './receipts.ts'
import { skillsPage } from './skills.ts'
import { statusPage } from './status.ts'
import { missingPage, unavailablePage } from './trouble.ts'
import { viewPagesOf } from './views.ts'

/** One page each. */
const singlePages: readonly ((world: World) => Page)[] = [
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

export function* pagesOf(world: World): Generator<Page> {
  for (const page of singlePages) yield page(world)
  for (const rail of shownRails(world)) yield railPage(rail, world)
  for (const article of world.articles) yield articlePage(article, world)
  yield* pactPages(world)
  yield* jobPages(world)
  yield* workerPages(world)
  yield* receiptPages(world)
  yield* partnerPages(world)
  yield* viewPagesOf()
}
