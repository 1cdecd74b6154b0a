// Lists that reach beyond their page, searches that ask the API, and pages of things that are only in the database.
// Everything that comes from outside is set as text.

const walletForm = /^(?:0x[0-9a-fA-F]{40}|[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
const slugForm = /^[a-z0-9][a-z0-9-]{1,63}$/

function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children.flat().filter((child) => child !== null))
  return made
}

const foreign = (text) => element('bdi', {}, text)
const code = (text) => element('code', {}, text)
const pill = (word) => element('span', { class: 'pill', 'data-is': word }, word.replaceAll('_', ' '))
const inside = (path, label) => element('a', { href: path }, label)
const shorten = (text) => (text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text)
const hash = (text) => element('code', { title: text }, shorten(text))
const listed = (texts) => texts.flatMap((text, at) => (at === 0 ? [foreign(text)] : [', ', foreign(text)]))

function address(url) {
  if (!/^https?:\/\/[^\s"'<>\\]+$/.test(url)) return foreign(url)
  const label = foreign(url.replace(/^https?:\/\//, '').replace(/\/$/, ''))
  return element('a', { href: url, rel: 'nofollow noopener noreferrer' }, label)
}

function amount(usdc) {
  const digits = usdc > 0 && usdc < 0.01 ? 6 : 2
  return usdc.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function time(iso) {
  return element('time', { datetime: iso }, `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`)
}

const path = (kind, id) => `/${kind}/${encodeURIComponent(id)}`
const railLink = (rail) => inside(path('rails', rail), foreign(rail))

/** A cell that a column is sorted by: what it shows, and its place in the order. */
const cell = (shown, order) => ({ shown, order })

const rows = {
  receipts: (receipt) => [
    cell(inside(path('receipts', receipt.receipt_id), hash(receipt.receipt_id)), receipt.receipt_id),
    cell(pill(receipt.verification)),
    cell(railLink(receipt.rail)),
    cell(amount(receipt.amount_usdc), receipt.amount_usdc),
    cell(receipt.from_wallet === undefined ? 'not stated' : hash(receipt.from_wallet)),
    cell(inside(path('workers', receipt.to_wallet), hash(receipt.to_wallet))),
    cell(time(receipt.occurred_at), Date.parse(receipt.occurred_at)),
  ],
  workers: (worker) => [
    cell(worker.display_name === undefined ? 'no name' : foreign(worker.display_name)),
    cell(inside(path('workers', worker.wallet), hash(worker.wallet)), worker.wallet),
    cell(listed(worker.skills)),
    cell(time(worker.registered_at), Date.parse(worker.registered_at)),
  ],
  jobs: (job) => [
    cell(inside(path('jobs', job.id), foreign(job.title)), job.title.toLowerCase()),
    cell(pill(job.status)),
    cell(amount(job.budget_usdc), job.budget_usdc),
    cell(String(job.bids_count), job.bids_count),
    cell(listed(job.skills)),
    cell(time(job.deadline), Date.parse(job.deadline)),
  ],
}

function rowOf(kind, entry, table) {
  const columns = table.tHead.rows[0].cells
  const row = element('tr', {})
  rows[kind](entry).forEach(({ shown, order }, at) => {
    const attributes = {
      ...(at === 0 ? { scope: 'row' } : {}),
      ...(columns[at].classList.contains('figure') ? { class: 'figure' } : {}),
      ...(order === undefined ? {} : { 'data-order': String(order) }),
    }
    row.append(element(at === 0 ? 'th' : 'td', attributes, shown))
  })
  return row
}

/** The body of an answer, or an error that says in words what went wrong. */
async function ask(url) {
  let answer
  try {
    answer = await fetch(url)
  } catch {
    throw new Error('The service does not answer.')
  }
  if (answer.ok) return await answer.json()
  if (answer.status === 404) throw new Error('There is no such thing in the ledger.')
  if (answer.status === 429) {
    throw new Error(`Too many requests. Try again in ${answer.headers.get('retry-after') ?? 'a few'} seconds.`)
  }
  throw new Error(`The service answered ${answer.status}.`)
}

/** What can be looked for: the form of an id that has a page of its own, then questions of the API. */
const searches = {
  receipts: { own: /^rcp_[0-9a-f]{64}$/, questions: [[walletForm, 'wallet']] },
  workers: { own: walletForm, questions: [[slugForm, 'skill']] },
  jobs: {
    own: /^job_[0-9a-f]{24}$/,
    questions: [
      [/^(?:open|awarded|delivered|accepted|disputed|cancelled|expired)$/, 'status'],
      [walletForm, 'wallet'],
      [slugForm, 'skill'],
    ],
  },
  partners: { own: /^[a-z0-9-]{3,32}$/, questions: [] },
}

export function enableSearch(form) {
  const kind = form.dataset.search
  const { own, questions } = searches[kind]
  const table = document.getElementById(kind)
  const [input, button, output] = ['input', 'button', 'output'].map((name) => form.querySelector(name))
  const first = table === null ? [] : [...table.tBodies[0].rows]
  for (const control of [input, button]) control.disabled = false

  const show = (entries) => table.tBodies[0].replaceChildren(...entries)
  const run = async () => {
    const wanted = input.value.trim()
    if (wanted === '') {
      if (table !== null) show(first)
      output.textContent = ''
      return
    }
    if (own.test(wanted)) {
      location.assign(path(kind, wanted))
      return
    }
    const question = questions.find(([words]) => words.test(wanted))
    if (question === undefined || table === null) {
      output.textContent = `That is no ${form.dataset.what}.`
      return
    }
    output.textContent = 'Asking…'
    try {
      const query = new URLSearchParams({ [question[1]]: wanted, limit: '200' })
      const answer = await ask(`/api/v1/${kind}?${query}`)
      show(answer[kind].map((entry) => rowOf(kind, entry, table)))
      const newest = answer.count < answer.total ? `, the newest ${answer.count} shown` : ''
      output.textContent = `${answer.total} found${newest}.`
    } catch (error) {
      output.textContent = error.message
    }
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const here = new URL(location.href)
    here.searchParams.set('q', input.value.trim())
    history.replaceState(null, '', here)
    void run()
  })
  input.addEventListener('input', () => {
    if (input.value.trim() === '') void run()
  })
  const asked = new URLSearchParams(location.search).get('q')
  if (asked !== null && !own.test(asked)) {
    input.value = asked
    void run()
  }
}

/** The link to the next page of the API becomes a button that appends it here. */
export function enableMore(box) {
  const kind = box.dataset.more
  const table = document.getElementById(kind)
  const status = element('output', { role: 'status' })
  const button = element('button', { type: 'button' }, box.dataset.label)
  let next = box.dataset.next
  box.replaceChildren(button, ' ', status)
  button.addEventListener('click', async () => {
    button.disabled = true
    try {
      const answer = await ask(`/api/v1/${kind}?${new URLSearchParams({ limit: '100', cursor: next })}`)
      table.tBodies[0].append(...answer[kind].map((entry) => rowOf(kind, entry, table)))
      next = answer.next_cursor
      status.textContent = `${table.tBodies[0].rows.length} of ${answer.total} shown.`
      button.hidden = next === undefined
    } catch (error) {
      status.textContent = error.message
    }
    button.disabled = false
    if (!button.hidden) button.focus()
  })
}

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

rows.oaths = (entry) => [
  cell(time(entry.time)),
  cell(entry.kind),
  cell(foreign(entry.action)),
  cell(hash(entry.message_sha256)),
  cell(entry.binding),
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
