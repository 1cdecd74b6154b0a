// Pages of things that are only in the database.

import {
  address,
  amount,
  ask,
  code,
  element,
  foreign,
  inside,
  listed,
  path,
  pill,
  railLink,
  rowOf,
  shorten,
  time,
} from '/assets/parts.js'

/** Terms with what they are; entries that are null are left out. */
function facts(entries) {
  const shown = entries.filter((entry) => entry !== null)
  const pairs = shown.map(([term, said]) => element('div', {}, element('dt', {}, term), element('dd', {}, said)))
  return element('dl', { class: 'facts' }, pairs)
}

const fact = (term, value, show = foreign) => (value === undefined || value === null ? null : [term, show(value)])
const lede = (...children) => element('p', { class: 'lede' }, ...children)
const text = (words) => element('p', {}, foreign(words))
const heading = (words) => element('h2', {}, words)
const workerLink = (wallet) => inside(path('workers', wallet), code(wallet))

function links(entries) {
  const items = entries.map(([href, label]) => element('li', {}, inside(href, label)))
  return element('ul', { class: 'links' }, items)
}

function tableOf(kind, caption, labels, entries) {
  if (entries.length === 0) return [element('p', { class: 'empty' }, 'None.')]
  const heads = labels.map(([label, isFigure]) =>
    element('th', { scope: 'col', ...(isFigure ? { class: 'figure' } : {}) }, label),
  )
  const body = element('tbody', {})
  const table = element('table', { 'aria-label': caption }, element('thead', {}, element('tr', {}, heads)), body)
  body.append(...entries.map((entry) => rowOf(kind, entry, table)))
  const box = element('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' }, table)
  return [element('p', { class: 'caption' }, caption), box]
}

const receiptColumns = [
  ['Receipt'],
  ['Verification'],
  ['Rail'],
  ['Amount, USDC', true],
  ['From'],
  ['To'],
  ['Paid'],
]

/** What a page of one thing says: its title and its blocks. */
const views = {
  async receipt(id) {
    const receipt = await ask(`/api/v1${path('receipts', id)}`)
    const button = element('button', { type: 'button' }, 'Check id and signature')
    const result = element('div', { class: 'result', role: 'status' })
    button.addEventListener('click', async () => {
      const { showReceiptCheck } = await import('/assets/verify.js')
      await showReceiptCheck(id, receipt.content, result, button)
    })
    const about = 'Computes the id from the content of the receipt, and checks its own signature.'
    const issuer =
      receipt.kind === 'platform' ? ['by the platform ', foreign(receipt.platform ?? 'unknown')] : 'signed by the worker'
    return {
      title: `Receipt ${id.slice(0, 12)}…${id.slice(-6)}`,
      blocks: [
        lede(pill(receipt.verification), ` ${amount(receipt.amount_usdc)} USDC paid at `, time(receipt.occurred_at)),
        receipt.verification_reason === undefined ? null : text(receipt.verification_reason),
        facts([
          ['Receipt', code(id)],
          ['Rail', railLink(receipt.rail)],
          ['From', receipt.from_wallet === undefined ? 'not stated' : code(receipt.from_wallet)],
          ['To', workerLink(receipt.to_wallet)],
          ['Amount', `${amount(receipt.amount_usdc)} USDC`],
          ['Issued', issuer],
          ['Checked on its chain', receipt.onchain_verified ? 'yes' : 'no'],
          fact('Chain', receipt.chain),
          fact('Transaction', receipt.tx_hash, (value) =>
            receipt.explorer_url === undefined ? code(value) : address(receipt.explorer_url),
          ),
          fact('Job', receipt.job_id),
          fact('Summary', receipt.summary),
          fact('Evidence', receipt.evidence_url, address),
          ['Accepted', time(receipt.accepted_at)],
        ]),
        heading('Check it'),
        element('div', { class: 'verify' }, button, element('p', {}, about), result),
        links([
          [`/api/v1${path('receipts', id)}`, 'With its content, JSON'],
          ['/receipts', 'All receipts'],
        ]),
      ],
    }
  },

  async worker(wallet) {
    const query = new URLSearchParams({ wallet, limit: '200' })
    const [{ workers }, { receipts, total }, { leaderboard }] = await Promise.all([
      ask(`/api/v1/workers?${query}`),
      ask(`/api/v1/receipts?${query}`),
      ask('/api/v1/leaderboard'),
    ])
    const [worker] = workers
    const shown = worker?.wallet ?? receipts[0]?.to_wallet ?? wallet
    const place = leaderboard.find((entry) => entry.wallet === shown)
    return {
      title: place?.display_name ?? worker?.display_name ?? `Worker ${shorten(shown)}`,
      blocks: [
        facts([
          ['Wallet', code(shown)],
          ['Rank', place === undefined ? 'not among the first' : `${place.rank}, score ${amount(place.rep_score)}`],
          ['Registered', worker === undefined ? 'no' : time(worker.registered_at)],
          fact('Skills', worker?.skills, listed),
          fact('Address', worker?.url, address),
          fact('Key that signs receipts', worker?.receipt_key, code),
        ]),
        worker?.bio === undefined ? null : text(worker.bio),
        heading('Receipts'),
        ...tableOf('receipts', `Newest first, ${receipts.length} of ${total}.`, receiptColumns, receipts),
        links([
          ['/workers', 'All workers'],
          ['/leaderboard', 'Leaderboard'],
        ]),
      ],
    }
  },

  async job(id) {
    const job = await ask(`/api/v1${path('jobs', id)}`)
    const moves = job.history.map(({ event, by, status, at }) =>
      element('li', {}, time(at), ` ${event} by ${by}: ${status.replaceAll('_', ' ')}`),
    )
    return {
      title: job.title,
      blocks: [
        lede(pill(job.status), ` up to ${amount(job.budget_usdc)} USDC`),
        text(job.description),
        facts([
          ['Job', code(job.id)],
          ['Posted', time(job.created_at)],
          ['Deadline', time(job.deadline)],
          ['Poster', code(job.poster)],
          ['Skills', job.skills.length === 0 ? 'any' : listed(job.skills)],
          ['Bids', String(job.bids_count)],
          fact('Awarded to', job.worker, workerLink),
          fact('Price of the bid', job.price_usdc, (value) => `${amount(value)} USDC`),
          fact('SHA-256 of the delivery', job.delivery?.content_sha256, code),
          fact('Disputed', job.dispute?.reason),
          fact('Receipt', job.receipt_id, (value) => inside(path('receipts', value), code(value))),
        ]),
        heading('What happened'),
        element('ol', {}, moves),
        links([
          [`/api/v1${path('jobs', id)}`, 'As JSON'],
          ['/jobs', 'All jobs'],
        ]),
      ],
    }
  },

  async partner(handle) {
    const api = `/api/v1${path('partners', handle)}`
    const [partner, history] = await Promise.all([ask(api), ask(`${api}/oaths?limit=50`)])
    return {
      title: partner.display_name,
      blocks: [
        lede(pill(partner.status), ` on the tier ${partner.tier}, `, code(partner.handle)),
        partner.bio_short === undefined ? null : text(partner.bio_short),
        facts([
          ['Wallet', code(partner.wallet)],
          fact('Website', partner.website, address),
          ['Skills', partner.skills.length === 0 ? 'none named' : listed(partner.skills)],
          ['Oath signed', time(partner.oath_signed_at)],
          ['Attestation endpoint', partner.attestation_endpoint_url === null ? 'none' : address(partner.attestation_endpoint_url)],
          fact('Endpoint set', partner.attestation_signed_at, time),
          ['Partner since', time(partner.created_at)],
        ]),
        heading('Oaths and writes'),
        ...tableOf(
          'oaths',
          `The newest ${history.count} of ${history.total}.`,
          [['Time'], ['Kind'], ['Action'], ['SHA-256 of the signed text'], ['Binds']],
          history.oaths,
        ),
        links([
          [api, 'As JSON'],
          [`${api}/oaths`, 'The history as JSON'],
          ['/partners', 'All partners'],
        ]),
      ],
    }
  },
}

/** Shows the thing whose id is in the address: `/receipts/{id}`, or `/view/receipt?id=`. */
export async function showView(box) {
  const [, kind, last] = location.pathname.split('/')
  const id = kind === 'view' ? new URLSearchParams(location.search).get('id') : decodeURIComponent(last)
  if (id === null || id === '') return
  box.replaceChildren(element('p', { role: 'status' }, 'Asking the ledger…'))
  try {
    const { title, blocks } = await views[box.dataset.view](id)
    document.querySelector('h1').replaceChildren(foreign(title))
    document.title = `${title} · Agent Income Ledger`
    box.replaceChildren(...blocks.filter((block) => block !== null))
  } catch (error) {
    box.replaceChildren(element('p', { role: 'alert', class: 'notice' }, error.message))
  }
}
