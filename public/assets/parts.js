// What lists and pages of single things are shown with. Everything that comes from outside is set as text.

export function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children.flat().filter((child) => child !== null))
  return made
}

export const foreign = (text) => element('bdi', {}, text)
export const code = (text) => element('code', {}, text)
export const pill = (word) => element('span', { class: 'pill', 'data-is': word }, word.replaceAll('_', ' '))
export const inside = (path, label) => element('a', { href: path }, label)
export const shorten = (text) => (text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text)
const hash = (text) => element('code', { title: text }, shorten(text))
export const listed = (texts) => texts.flatMap((text, at) => (at === 0 ? [foreign(text)] : [', ', foreign(text)]))

export function address(url) {
  if (!/^https?:\/\/[^\s"'<>\\]+$/.test(url)) return foreign(url)
  const label = foreign(url.replace(/^https?:\/\//, '').replace(/\/$/, ''))
  return element('a', { href: url, rel: 'nofollow noopener noreferrer' }, label)
}

export function amount(usdc) {
  const digits = usdc > 0 && usdc < 0.01 ? 6 : 2
  return usdc.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function time(iso) {
  return element('time', { datetime: iso }, `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`)
}

export const path = (kind, id) => `/${kind}/${encodeURIComponent(id)}`
export const railLink = (rail) => inside(path('rails', rail), foreign(rail))

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
  oaths: (entry) => [
    cell(time(entry.time)),
    cell(entry.kind),
    cell(foreign(entry.action)),
    cell(hash(entry.message_sha256)),
    cell(entry.binding),
  ],
}

export function rowOf(kind, entry, table) {
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
export async function ask(url) {
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
