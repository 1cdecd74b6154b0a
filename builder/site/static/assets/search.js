// Lists the entries of the search page that have the words of the search, best first, and opens a receipt, worker or job by its id.
const input = document.querySelector('main input[type=search]')
const output = input.form.querySelector('output')
const list = document.querySelector('main ul:last-of-type')
const entries = [...list.children].map((item) => {
  return { item, title: item.querySelector('a').textContent.toLowerCase(), text: item.textContent.toLowerCase() }
})

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
  for (const { item, text } of entries) item.hidden = !words.every((word) => text.includes(word))
  const inTitle = ({ title }) => words.filter((word) => title.includes(word)).length
  const found = entries.filter(({ item }) => !item.hidden).sort((a, b) => inTitle(b) - inTitle(a))
  list.prepend(...found.map(({ item }) => item))
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
