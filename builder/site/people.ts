/** `/leaderboard`, `/workers` and a page for each worker. */
import type { Receipt } from '../../src/contract/schemas/receipt.ts'
import { counted } from '../../src/core/number-text.ts'
import { reputationFormula } from '../../src/core/reputation.ts'
import type { Community, World } from '../world/world.ts'
import { facts, links, para, section, verifyBox } from './blocks.ts'
import { amount, count, day, hash, time, usdc } from './figures.ts'
import { address, code, untrustedText, join, link, inline, small } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { receiptTable } from './receipt-parts.ts'
import { more, searchForm } from './search.ts'
import { cell, table } from './table.ts'

type WorkerEntry = Community['workers'][number]

export function workerPath(wallet: string): string {
  return `/workers/${wallet}`
}

/** A name as its owner wrote it, with a word of warning where it looks like an earlier one. */
export function nameOf(
  name: string,
  { looks_like_another: isLookAlike }: { readonly looks_like_another?: true | undefined },
  shown: HtmlAndMarkdown = untrustedText(name),
): HtmlAndMarkdown {
  return isLookAlike === true ? inline`${shown} ${small('looks like another')}` : shown
}

/** The wallet as a link where a page is built for it. */
function walletLink(wallet: string, pages: ReadonlySet<string>): HtmlAndMarkdown {
  return pages.has(wallet) ? link(workerPath(wallet), hash(wallet)) : hash(wallet)
}

/** Wallets that have a published page: the newest workers, everyone on the leaderboard, who was paid last. */
export function workerWallets(community: Community): ReadonlySet<string> {
  const { workers, leaderboard, receipts } = community
  return new Set([
    ...[...workers, ...leaderboard].map(({ wallet }) => wallet),
    ...receipts.map((receipt) => receipt.to_wallet),
  ])
}

export function leaderboardPage({ community }: World): SitePage {
  const { leaderboard } = community
  const pages = workerWallets(community)
  return {
    path: '/leaderboard',
    title: 'Leaderboard by verified reputation',
    description: `${counted(leaderboard.length, 'wallet')} ranked by receipts that were verified. The formula is public and anyone can recompute a score.`,
    nav: '/leaderboard',
    alternates: [{ type: 'application/json', href: '/api/v1/leaderboard', title: 'JSON' }],
    body: [
      para(
        'A place here is earned with receipts that the ledger could verify, and with nothing else.',
        'lede',
      ),
      table({
        id: 'leaderboard',
        caption: 'Ties go to the earlier first receipt.',
        columns: [
          { label: 'Rank', kind: 'figure' },
          { label: 'Name' },
          { label: 'Wallet' },
          { label: 'Score', kind: 'figure' },
          { label: 'Receipts', kind: 'figure' },
          { label: 'Earned', unit: 'USDC, all time', kind: 'figure' },
          { label: 'Last receipt' },
        ],
        rows: leaderboard.map((entry) => ({
          cells: [
            cell(entry.rank, entry.rank),
            entry.display_name === null
              ? cell('unclaimed', '')
              : cell(nameOf(entry.display_name, entry), entry.display_name.toLowerCase()),
            cell(walletLink(entry.wallet, pages), entry.wallet),
            cell(amount(entry.rep_score), entry.rep_score),
            cell(count(entry.receipts_count), entry.receipts_count),
            cell(amount(entry.total_usdc_lifetime), entry.total_usdc_lifetime),
            lastReceipt(entry.last_receipt_at),
          ],
        })),
        empty: 'No receipt has been verified yet, so nobody is ranked.',
      }),
      section(
        'formula',
        'How a score comes about',
        para(reputationFormula),
        para(link('/docs/reputation', 'The rules in full, with an example')),
      ),
      verifyBox('/api/v1/leaderboard', '/api/v1/leaderboard'),
      links([
        ['/api/v1/leaderboard', 'As JSON'],
        ['/workers', 'All workers'],
        ['/receipts', 'Receipts'],
      ]),
    ],
  }
}

function lastReceipt(at: string | null) {
  return at === null ? cell('none', null) : cell(time(Date.parse(at)), Date.parse(at))
}

export function workersPage({ community }: World): SitePage {
  const { workers, workersTotal, workersNext } = community
  const pages = workerWallets(community)
  return {
    path: '/workers',
    title: 'Workers',
    description: `${counted(workersTotal, 'registered worker')}: a wallet each, with the skills it offers.`,
    nav: '/leaderboard',
    alternates: [{ type: 'application/json', href: '/api/v1/workers', title: 'JSON' }],
    body: [
      para(
        'A worker is a wallet and what it can do. Registering is a signed request and costs nothing.',
        'lede',
      ),
      searchForm({
        kind: 'workers',
        what: 'Wallet, or slug of a skill',
        byHand:
          'A worker is at /workers/ and the wallet; everyone with a skill at /api/v1/workers?skill= and its slug.',
      }),
      table({
        id: 'workers',
        caption: `The newest ${workers.length} of ${workersTotal}.`,
        columns: [
          { label: 'Name' },
          { label: 'Wallet' },
          { label: 'Skills', sortable: false },
          { label: 'Registered' },
        ],
        rows: workers.map((worker) => ({
          cells: [
            worker.display_name === undefined
              ? cell('no name', '')
              : cell(nameOf(worker.display_name, worker), worker.display_name.toLowerCase()),
            cell(walletLink(worker.wallet, pages), worker.wallet),
            join(worker.skills.map(untrustedText), ', '),
            cell(day(Date.parse(worker.registered_at)), Date.parse(worker.registered_at)),
          ],
        })),
        empty: 'Nobody has registered yet.',
      }),
      more('workers', workersNext),
      links([
        ['/api/v1/workers', 'As JSON'],
        ['/leaderboard', 'Leaderboard'],
        ['/docs/signing', 'How to register'],
      ]),
    ],
  }
}

export function* workerPages(world: World): Generator<SitePage> {
  const { community } = world
  const workers = new Map(community.workers.map((worker) => [worker.wallet, worker]))
  const receipts = new Map<string, Receipt[]>()
  for (const receipt of community.receipts) {
    const others = receipts.get(receipt.to_wallet)
    if (others === undefined) receipts.set(receipt.to_wallet, [receipt])
    else others.push(receipt)
  }
  for (const wallet of workerWallets(community)) {
    yield workerPage(wallet, workers.get(wallet), receipts.get(wallet) ?? [], world)
  }
}

function workerPage(
  wallet: string,
  worker: WorkerEntry | undefined,
  receipts: readonly Receipt[],
  { community }: World,
): SitePage {
  const place = community.leaderboard.find((entry) => entry.wallet === wallet)
  const name = place?.display_name ?? worker?.display_name ?? null
  return {
    path: workerPath(wallet),
    title: name ?? `Worker ${wallet.slice(0, 10)}…${wallet.slice(-6)}`,
    description: `The worker with the wallet ${wallet}: skills, rank and receipts.`,
    nav: '/leaderboard',
    listed: false,
    madeOf: [worker ?? null, place ?? null, receipts],
    body: () => [
      facts([
        ['Wallet', code(wallet)],
        (place ?? worker)?.looks_like_another === true
          ? ['Name', 'looks like one that another wallet had before']
          : null,
        [
          'Rank',
          place === undefined
            ? 'not ranked'
            : inline`${place.rank}, score ${amount(place.rep_score)}`,
        ],
        place === undefined
          ? null
          : [
              'Earned',
              inline`${usdc(place.total_usdc_lifetime)} in ${counted(place.receipts_count, 'receipt')}`,
            ],
        place === undefined ? null : ['Spot claimed', place.claimed ? 'yes' : 'no'],
        ...(worker === undefined ? ([['Registered', 'no']] as const) : registration(worker)),
      ]),
      worker?.bio === undefined ? null : para(untrustedText(worker.bio)),
      section(
        'receipts',
        'Receipts',
        receiptTable('receipts-table', 'Those among the newest of the ledger.', receipts),
        links([
          [`/view/worker?id=${wallet}`, 'With all receipts'],
          [`/api/v1/receipts?wallet=${wallet}`, 'All receipts, JSON'],
        ]),
      ),
      links([
        ['/leaderboard', 'Leaderboard'],
        ['/workers', 'All workers'],
      ]),
    ],
  }
}

function registration(worker: WorkerEntry): readonly (readonly [string, HtmlAndMarkdown] | null)[] {
  return [
    ['Registered', time(Date.parse(worker.registered_at))],
    ['Skills', join(worker.skills.map(untrustedText), ', ')],
    worker.url === undefined ? null : ['Address', address(worker.url)],
    worker.receipt_key === undefined ? null : ['Key that signs receipts', code(worker.receipt_key)],
  ]
}
