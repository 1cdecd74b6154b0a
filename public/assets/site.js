// Comforts on top of pages that are complete without them: order, counts, ages, signature checks; more on demand.

const collator = new Intl.Collator('en', { numeric: true })

/** What a cell is sorted by: its order, else its text. An empty order is unknown. */
const keyOf = (cell) => cell.dataset.order ?? cell.textContent.trim()

function compare(a, b) {
  const [left, right] = [Number(a), Number(b)]
  return Number.isNaN(left) || Number.isNaN(right) ? collator.compare(a, b) : left - right
}

/** Unknown goes last whichever way. */
function sortBy(header, direction) {
  const body = header.closest('table').tBodies[0]
  const at = header.cellIndex
  const rows = [...body.rows].map((row) => [keyOf(row.cells[at]), row])
  const sign = direction === 'ascending' ? 1 : -1
  rows.sort(([a], [b]) => (a === '' || b === '' ? (a === '') - (b === '') : sign * compare(a, b)))
  body.append(...rows.map(([, row]) => row))
  for (const other of header.parentElement.cells) other.removeAttribute('aria-sort')
  header.setAttribute('aria-sort', direction)
}

for (const header of document.querySelectorAll('th[data-sortable]')) {
  const label = header.querySelector('span')
  const button = document.createElement('button')
  button.type = 'button'
  button.append(...label.childNodes)
  label.append(button)
  button.addEventListener('click', () => {
    const first = header.classList.contains('figure') ? 'descending' : 'ascending'
    const now = header.getAttribute('aria-sort')
    const other = first === 'ascending' ? 'descending' : 'ascending'
    sortBy(header, now === first ? other : first)
  })
}

/** Rows that are shown, of all; the style sheet hides the others. */
function countRows(form, table) {
  const rows = [...table.tBodies[0].rows]
  const shown = rows.filter((row) => getComputedStyle(row).display !== 'none').length
  const output = form.querySelector('output')
  output.dataset.all ??= output.textContent
  output.textContent = shown === rows.length ? output.dataset.all : `${shown} of ${output.dataset.all}`
}

for (const form of document.querySelectorAll('form[data-filters]')) {
  const table = document.getElementById(form.dataset.filters)
  if (table === null) continue
  // The address keeps what is chosen, so that a view can be shared.
  const query = new URLSearchParams(location.search)
  for (const select of form.querySelectorAll('select')) {
    const name = select.id.replace('filter-', '')
    const wanted = [...select.options].find(({ value }) => value === query.get(name))
    if (wanted) wanted.selected = true
    select.addEventListener('change', () => {
      const address = new URL(location.href)
      if (select.value === '') address.searchParams.delete(name)
      else address.searchParams.set(name, select.value)
      history.replaceState(null, '', address)
      countRows(form, table)
    })
  }
  countRows(form, table)
}

const onDemand = {
  '[data-search]': ['lists', 'enableSearch'],
  '[data-more]': ['lists', 'enableMore'],
  '[data-view]': ['views', 'showView'],
}
for (const [selector, [file, enable]] of Object.entries(onDemand)) {
  for (const box of document.querySelectorAll(selector)) {
    import(`/assets/${file}.js`).then((module) => module[enable](box))
  }
}

/** How long ago, beside the time itself. The place it takes is kept, so nothing moves. */
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const steps = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]
for (const element of document.querySelectorAll('time[datetime*=T]')) {
  const seconds = (Date.parse(element.dateTime) - Date.now()) / 1000
  const [unit, size] = steps.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  element.title = relative.format(Math.round(seconds / size), unit)
}

for (const box of document.querySelectorAll('[data-verify]')) {
  const button = box.querySelector('button')
  button.disabled = false
  button.addEventListener('click', async () => {
    const { showCheck } = await import('/assets/verify.js')
    await showCheck(box.dataset.verify, box.querySelector('.result'), button)
  })
}

for (const box of document.querySelectorAll('[data-health]')) {
  try {
    const health = await (await fetch(box.dataset.health)).json()
    const age = health.snapshot_age_s === null ? 'unknown' : `${Math.round(health.snapshot_age_s / 60)} min`
    const problems = health.problems.length === 0 ? 'no problems' : health.problems.join('; ')
    box.textContent = `Right now: ${health.status}, database ${health.database}, published set ${age} old, ${problems}.`
  } catch {
    box.textContent = 'Right now: the service does not answer; what you see is a copy.'
  }
}
