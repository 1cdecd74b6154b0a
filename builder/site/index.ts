/** Every page of the site, in the order of the index for agents. */
import type { SitePage } from '../../src/pages/page.ts'
import { memoizeByReads } from '../cache/memoize.ts'
import type { World } from '../world/world.ts'
import { changelogPage } from './changelog.ts'
import { articlePage, deskPage } from './desk.ts'
import { docsPages } from './docs/page.ts'
import { missingPage, unavailablePage } from './error-pages.ts'
import { flagsPage } from './flags.ts'
import { homePage } from './home.ts'
import { jobPages, jobsPage } from './jobs.ts'
import { opportunitiesPage } from './opportunities.ts'
import { pactPages } from './pact.ts'
import { pactsPage } from './pacts.ts'
import { partnerPages, partnersPage } from './partners.ts'
import { leaderboardPage, workerPages, workersPage } from './people.ts'
import { shownRails } from './rail-parts.ts'
import { railPage } from './rail.ts'
import { receiptPages, receiptsPage } from './receipts.ts'
import { skillsPage } from './skills.ts'
import { statusPage } from './status.ts'

type PageSource = (world: World) => SitePage | Iterable<SitePage>

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
  deskPage,
  skillsPage,
  partnersPage,
  statusPage,
  docsPages,
  changelogPage,
  missingPage,
  unavailablePage,
  (world) => shownRails(world).map((rail) => railPage(rail, world)),
  (world) => world.articles.map((article) => articlePage(article, world)),
  pactPages,
  jobPages,
  workerPages,
  receiptPages,
  partnerPages,
]

/** Returns a function that describes a page again only when a part of the world that it reads has changed. */
export function createPages(): (world: World) => readonly SitePage[] {
  const sources = pageSources.map((source) =>
    memoizeByReads((world: World) => {
      const pages = source(world)
      return Symbol.iterator in pages ? [...pages] : [pages]
    }),
  )
  return (world) => sources.flatMap((pages) => pages(world))
}
