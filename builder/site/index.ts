import type { SitePage } from '../../src/pages/page.ts'
import type { World } from '../world/world.ts'
import { changelogPage } from './changelog.ts'
import { articlePages, deskPage } from './desk.ts'
import { disputesPage } from './disputes.ts'
import { docsPages } from './docs/page.ts'
import { missingPage, unavailablePage } from './error-pages.ts'
import { flagsPage } from './flags.ts'
import { homePage } from './home.ts'
import { jobsPage } from './jobs.ts'
import { opportunitiesPage } from './opportunities.ts'
import { pactPages } from './pact.ts'
import { pactsPage } from './pacts.ts'
import type { PageSource } from './page-source.ts'
import { partnersPage } from './partners.ts'
import { leaderboardPage, workersPage } from './people.ts'
import { railPages } from './rail.ts'
import { receiptsPage } from './receipts.ts'
import { skillPages, skillsPage } from './skills.ts'
import { statusPage } from './status.ts'
import { weekPage } from './week.ts'

/** Every page, in the order of llms.txt. */
const pageSources: readonly PageSource[] = [
  homePage,
  opportunitiesPage,
  leaderboardPage,
  workersPage,
  receiptsPage,
  jobsPage,
  pactsPage,
  flagsPage,
  disputesPage,
  deskPage,
  skillsPage,
  partnersPage,
  statusPage,
  weekPage,
  docsPages,
  changelogPage,
  missingPage,
  unavailablePage,
  railPages,
  articlePages,
  pactPages,
  skillPages,
]

/** Returns the pages of one world after another. */
export function createPages(): (world: World) => readonly SitePage[] {
  const sources = pageSources.map((source) => source())
  return (world) => sources.flatMap((pages) => pages(world))
}
