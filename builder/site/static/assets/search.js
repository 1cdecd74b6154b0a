// Lists the entries of the search page that have the words of the search, best first, and opens a receipt, worker or job by its id.
const input = document.querySelector('main input[type=search]')
const output = input.form.querySelector('output')
const list = document.querySelector('main ul:last-of-type')
const entries = [...list.children].map((item) => {
  const anchor = item.querySelector('a')
  const kind = item.querySelector('.sub')?.textContent
  return { item, kind, title: anchor.textContent.toLowerCase(), slug: anchor.pathname.split('/').at(-1), text: item.textContent.toLowerCase() }
})
const exact = document.createElement('li')

// Words for being told of changes: a search for any of them finds all.
const notices = /\b(alerts?\b|feeds?\b|notif|webhook)/
const isNotice = /^(alert|feed|follow|notif|subscri|webhook)/

const pages = [
  [/^rcp_[0-9a-f]{64}$/, '/receipts/'],
  [/^job_\w+$/, '/jobs/'],
  [/^(0x[0-9a-fA-F]{40}|[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, '/workers/'],
]

function pageOf(id) {
  const [, start] = pages.find(([pattern]) => pattern.test(id)) ?? []
  return start === undefined ? null : start + id
}

/** 0 if the entry lacks the word. */
function scoreOf({ title, slug, text, kind }, word) {
  const guide = kind === 'guide' ? 6 : 0
  if (isNotice.test(word)) return notices.test(title) ? 2 + guide : notices.test(text) ? 1 + guide : 0
  return slug === word || title === word ? 9 : title.startsWith(word) ? 5 : title.includes(word) ? 4 : text.includes(word) ? 1 : 0
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== '')
  const page = pageOf(input.value.trim())
  const scored = entries.map((entry) => {
    const scores = words.map((word) => scoreOf(entry, word))
    entry.item.hidden = scores.includes(0)
    return { entry, score: scores.reduce((sum, score) => sum + score, 0) }
  })
  const found = scored.filter(({ entry }) => !entry.item.hidden).sort((a, b) => b.score - a.score)
  exact.replaceChildren()
  if (page !== null) {
    const anchor = document.createElement('a')
    anchor.href = page
    anchor.textContent = `Open ${page}`
    exact.append(anchor)
  }
  list.prepend(...(page === null ? [] : [exact]), ...found.map(({ entry }) => entry.item))
  if (page === null) exact.remove()
  output.textContent = `${found.length} of ${entries.length} pages`
}

/** Opens the page of an id or a wallet, or else the only match. */
function open(event) {
  event.preventDefault()
  const page = pageOf(input.value.trim())
  const matches = entries.filter(({ item }) => !item.hidden)
  if (page !== null) location.assign(page)
  else if (matches.length === 1) matches[0].item.querySelector('a').click()
}

input.value = new URLSearchParams(location.search).get('q') ?? ''
input.addEventListener('input', search)
input.form.addEventListener('submit', open)
search()
input.focus()
