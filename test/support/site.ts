/** The documents and preview images of one world, derived without memory of another world. */
import { createSnapshots } from '../../builder/documents/index.ts'
import { renderBody } from '../../builder/publish/document.ts'
import type { PublicDocument } from '../../builder/publish/document.ts'
import { createPageDocuments } from '../../builder/site/documents.ts'
import type { Drawing } from '../../builder/site/share-images.ts'
import { createSharedPages } from '../../builder/site/share.ts'
import { createSite } from '../../builder/site/site-documents.ts'
import type { World } from '../../builder/world/world.ts'
import { disputePage } from '../../src/pages/dispute.ts'
import { jobPage } from '../../src/pages/job.ts'
import { partnerPage } from '../../src/pages/partner.ts'
import { receiptPage } from '../../src/pages/receipt.ts'
import { workerPage } from '../../src/pages/worker.ts'

export function siteOf(
  world: World,
  shareImages: readonly PublicDocument[] = [],
): readonly PublicDocument[] {
  return createSite()(world, shareImages, documentsOf(world))
}

/** What the service renders on request, for the entries of all lists. */
export function requestedPagesOf({ community, disputes, exchange, rails, site }: World) {
  const { receipts, workers, leaderboard, partners } = community
  const names = {
    rails: new Map(rails.map(({ authored }) => [authored.rail, authored])),
    wallets: community.names,
  }
  const wallets = new Set([
    ...receipts.map((receipt) => receipt.to_wallet),
    ...[...workers, ...leaderboard].map(({ wallet }) => wallet),
  ])
  const documents = createPageDocuments(site)
  return [
    ...receipts.map((receipt) =>
      receiptPage(receipt, {
        names,
        platformName: undefined,
        pactId: null,
        contradiction: null,
        logIndex: 7,
        quorum: null,
        isWitnessed: false,
        points: 0,
        disputes: disputes.newest,
      }),
    ),
    ...[...wallets].map((wallet) =>
      workerPage(wallet, {
        worker: workers.find((worker) => worker.wallet === wallet),
        standing: leaderboard.find((standing) => standing.wallet === wallet),
        receipts: receipts.filter((receipt) => receipt.to_wallet === wallet),
        total: String(receipts.length),
        names,
        statements: { closed: [], open: [] },
      }),
    ),
    ...exchange.jobs.map((job) => jobPage({ ...job, history: [] }, names)),
    ...partners.map((partner) => {
      const jobs = exchange.jobs.filter(({ poster }) => poster === partner.wallet)
      const jobsTotal = String(jobs.length)
      return partnerPage(partner, { tier: undefined, jobs, jobsTotal, oaths: [], total: '0' })
    }),
    ...disputes.newest.map((dispute) => disputePage(dispute, names)),
  ].flatMap((page) => documents(page, new Set()).documents)
}

const built = new WeakMap<World, readonly PublicDocument[]>()

export function documentsOf(world: World): readonly PublicDocument[] {
  const documents = built.get(world) ?? createSnapshots()(world)
  built.set(world, documents)
  return documents
}

export function sharedPages(world: World): readonly Drawing[] {
  return createSharedPages()(world)
}

export function textOf(document: PublicDocument, stamp = ''): string {
  return Buffer.from(renderBody(document, stamp)).toString('utf8')
}

export function textAt(path: string, documents: readonly PublicDocument[], stamp = ''): string {
  const document = documents.find((candidate) => candidate.path === path)
  if (document === undefined) throw new Error(`no document ${path}`)
  return textOf(document, stamp)
}
