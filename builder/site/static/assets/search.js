// Lists the entries of the search page that have the words of the search, first those with the words in the title, and opens a receipt, worker or job by its id.
const input = document.querySelector('main input[type=search]')
const output = input.form.querySelector('output')
const groups = [...document.querySelectorAll('main section:has(> ul)')].map((section) => {
  const list = section.querySelector('ul')
  const kind = section.querySelector('h2').textContent
  const entries = [...list.children].map((item) => {
    return { item, title: item.querySelector('a').textContent.toLowerCase(), text: `${kind} ${item.textContent}`.toLowerCase() }
  })
  return { section, list, entries }
})
const entries = groups.flatMap((group) => group.entries)

const pages = [
  [/^rcp_[0-9a-f]{64}$/, '/receipts/'],
  [/^job_\w+$/, '/jobs/'],
  [/^(0x[0-9a-fA-F]{40}|[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, '/workers/'],
]

function pageOf(id) {
  const [, start] = pages.find(([pattern]) => pattern.test(id)) ?? []
  return start === undefined ? null : start + id
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/)
  const inTitle = ({ title }) => words.filter((word) => title.includes(word)).length
  const best = new Map()
  let total = 0
  for (const { section, list, entries } of groups) {
    for (const { item, text } of entries) item.hidden = !words.every((word) => text.includes(word))
    const found = entries.filter(({ item }) => !item.hidden).sort((a, b) => inTitle(b) - inTitle(a))
    list.prepend(...found.map(({ item }) => item))
    section.hidden = found.length === 0
    best.set(section, found.length === 0 ? 0 : inTitle(found[0]))
    total += found.length
  }
  input.form.after(...groups.map(({ section }) => section).sort((a, b) => best.get(b) - best.get(a)))
  output.textContent = total === 0 ? 'No page has all these words.' : `${total} of ${entries.length} pages`
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
