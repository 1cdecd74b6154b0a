/** Every page of the site. */
import type { SitePage } from '../../src/pages/page.ts'
import { statsParts } from '../documents/stats.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
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

type PageSource = () => (world: World) => readonly SitePage[]

/** One page or several, described again only when a part that they show has changed. */
function pageSource<Part extends keyof World>(
  parts: readonly Part[],
  describe: (world: Pick<World, NoInfer<Part>>) => SitePage | Iterable<SitePage>,
): PageSource {
  return () =>
    memoizeByParts(parts, (world) => {
      const pages = describe(world)
      return Symbol.iterator in pages ? [...pages] : [pages]
    })
}

/** Every page, in the order of llms.txt, with the parts of the world that it shows. */
const pageSources: readonly PageSource[] = [
  pageSource([...statsParts, 'articles', 'history'], homePage),
  pageSource(['nowMs', 'openFlags', 'pollEveryMs', 'rails'], opportunitiesPage),
  pageSource(['community'], leaderboardPage),
  pageSource(['community'], workersPage),
  pageSource(['community'], receiptsPage),
  pageSource(['exchange'], jobsPage),
  pageSource(['pacts', 'rails'], pactsPage),
  pageSource(['closedFlags', 'nowMs', 'openFlags', 'pollEveryMs', 'rails'], flagsPage),
  pageSource(['articles', 'views24h'], deskPage),
  pageSource(['nowMs', 'pollEveryMs', 'rails', 'taxonomy'], skillsPage),
  pageSource(['community', 'oaths', 'tiers'], partnersPage),
  pageSource(['history', 'nowMs', 'pollEveryMs', 'rails', 'receiptRun', 'runs'], statusPage),
  pageSource(['docs', 'signingKeys', 'site', 'taxonomy', 'tiers'], docsPages),
  pageSource(['changelog', 'site'], changelogPage),
  pageSource([], missingPage),
  pageSource([], unavailablePage),
  pageSource(
    ['closedFlags', 'events', 'history', 'nowMs', 'openFlags', 'pollEveryMs', 'rails', 'site'],
    (world) => shownRails(world).map((rail) => railPage(rail, world)),
  ),
  pageSource(['articles', 'site'], (world) =>
    world.articles.map((article) => articlePage(article, world)),
  ),
  pageSource(['community', 'pacts'], pactPages),
  pageSource(['community', 'exchange'], jobPages),
  pageSource(['community'], workerPages),
  pageSource(['community', 'pacts', 'rails'], receiptPages),
  pageSource(['community', 'tiers'], partnerPages),
]

/** Returns the pages of one world after another. */
export function createPages(): (world: World) => readonly SitePage[] {
  const sources = pageSources.map((source) => source())
  return (world) => sources.flatMap((pages) => pages(world))
}
