// Hides entries of the search page that lack a word of the search, lists those first that have it in their title, and
// opens a receipt, worker or job by its id.
const input = document.querySelector('main input[type=search]')
const output = input.form.querySelector('output')
const entries = [...document.querySelectorAll('main ul > li')].map((item) => [item, item.textContent.toLowerCase()])
const titleOf = (item) => item.querySelector('a').textContent.toLowerCase()

const pages = [
  [/^rcp_[0-9a-f]{64}$/, '/receipts/'],
  [/^job_\w+$/, '/jobs/'],
  [/^(0x[0-9a-fA-F]{40}|[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, '/workers/'],
]

function search() {
  const words = input.value.toLowerCase().split(/\s+/)
  let count = 0
  for (const [item, text] of entries) {
    item.hidden = !words.every((word) => text.includes(word))
    if (!item.hidden) count += 1
  }
  const named = entries.map(([item]) => item).filter((item) => words.every((word) => titleOf(item).includes(word)))
  const rest = entries.map(([item]) => item).filter((item) => !named.includes(item))
  entries[0][0].parentNode.append(...named, ...rest)
  output.textContent = `${count} of ${entries.length} pages`
}

/** Opens the page of an id or a wallet, or else the only match. */
function open(event) {
  event.preventDefault()
  const id = input.value.trim()
  const [, start] = pages.find(([pattern]) => pattern.test(id)) ?? []
  const matches = entries.filter(([item]) => !item.hidden)
  if (start !== undefined) location.assign(start + id)
  else if (matches.length === 1) matches[0][0].querySelector('a').click()
}

input.value = new URLSearchParams(location.search).get('q') ?? ''
input.addEventListener('input', search)
input.form.addEventListener('submit', open)
search()
input.focus()
