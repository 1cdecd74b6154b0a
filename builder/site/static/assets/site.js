// Adds sorting, counts, ages and signature checks to pages. The pages also work without this script.

const collator = new Intl.Collator('en', { numeric: true })

/** Returns the sort key of a cell: its `data-order`, or else its text. An empty `data-order` means unknown. */
const keyOf = (cell) => cell.dataset.order ?? cell.textContent.trim()

function compare(a, b) {
  const [left, right] = [Number(a), Number(b)]
  return Number.isNaN(left) || Number.isNaN(right) ? collator.compare(a, b) : left - right
}

/** Sorts unknown values last in both directions. */
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

// Some browsers take a table that is not displayed as one for plain text.
const roles = { TABLE: 'table', THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TD: 'cell' }
for (const part of document.querySelectorAll('.cards, .cards :is(thead, tbody, tr, th, td)')) {
  part.setAttribute('role', roles[part.tagName] ?? (part.scope === 'col' ? 'columnheader' : 'rowheader'))
}

for (const header of document.querySelectorAll('th[data-sortable]')) {
  const label = header.querySelector('span')
  const button = document.createElement('button')
  button.type = 'button'
  button.append(...label.childNodes)
  label.append(button)
  button.addEventListener('click', () => {
    const first = header.matches('.figure, .volume') ? 'descending' : 'ascending'
    const now = header.getAttribute('aria-sort')
    const other = first === 'ascending' ? 'descending' : 'ascending'
    sortBy(header, now === first ? other : first)
  })
}

/** Counts the visible rows; the style sheet hides the others. */
function countRows(form, table) {
  const rows = [...table.tBodies[0].rows]
  const shown = rows.filter((row) => row.checkVisibility()).length
  const output = form.querySelector('output')
  output.dataset.all ??= output.textContent
  output.textContent = shown === rows.length ? output.dataset.all : `${shown} of ${output.dataset.all}`
}

for (const form of document.querySelectorAll('form[data-filters]')) {
  const table = document.getElementById(form.dataset.filters)
  if (table === null) continue
  // The URL contains the selection, so that a reader can share the view.
  const query = new URLSearchParams(location.search)
  for (const select of form.querySelectorAll('select')) {
    const name = select.id.replace('filter-', '')
    const chosen = [...select.options].find(({ value }) => value === query.get(name))
    if (chosen) chosen.selected = true
    select.addEventListener('change', () => {
      const address = new URL(location.href)
      if (select.value === '') address.searchParams.delete(name)
      else address.searchParams.set(name, select.value)
      history.replaceState(null, '', address)
      countRows(form, table)
    })
  }
  table.closest('.scroll').nextElementSibling?.addEventListener('toggle', () => countRows(form, table))
  // Counting needs the styles, which the next frame computes anyway.
  requestAnimationFrame(() => countRows(form, table))
}

for (const box of document.querySelectorAll('[data-more]')) {
  import('/assets/lists.js').then(({ enableMore }) => enableMore(box))
}

for (const plot of document.querySelectorAll('.plot')) {
  import('/assets/chart.js').then(({ enableChart }) => enableChart(plot))
}

// A list page that is opened with `?q=` goes to the search page of this list.
const search = document.querySelector('form[role=search]')
const wanted = new URLSearchParams(location.search).get('q')
if (search !== null && wanted && location.pathname !== new URL(search.action).pathname) {
  location.replace(`${search.action}?${new URLSearchParams({ q: wanted })}`)
}

for (const button of document.querySelectorAll('[data-theme-switch]')) {
  const root = document.documentElement
  button.disabled = false
  button.addEventListener('click', () => {
    const { matches } = matchMedia('(prefers-color-scheme: dark)')
    const isDark = root.dataset.theme === undefined ? matches : root.dataset.theme === 'dark'
    root.dataset.theme = isDark ? 'light' : 'dark'
    try {
      localStorage.setItem('theme', root.dataset.theme)
    } catch {
      // Storage may be blocked; the choice then ends with the page.
    }
  })
}

for (const menu of document.querySelectorAll('.more details')) {
  addEventListener('click', ({ target }) => {
    if (!menu.contains(target)) menu.open = false
  })
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    menu.open = false
    menu.querySelector('summary').focus()
  })
}

addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select')) return
  event.preventDefault()
  const field = document.querySelector('main input[type=search]')
  if (field === null) location.assign('/search')
  else field.focus()
})

// Wide windows show the navigation of the documentation open, at its current entry.
if (matchMedia('(min-width: 66rem)').matches) {
  for (const side of document.querySelectorAll('.side')) {
    side.open = true
    const [list, entry] = [side.querySelector('nav'), side.querySelector('[aria-current]')]
    if (entry !== null) list.scrollTop = entry.offsetTop - list.clientHeight / 2
  }
}

function copyButton(textOf) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'tool'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(textOf()).then(
      () => true,
      () => false,
    )
    button.textContent = copied ? 'Copied' : 'Select the text to copy it'
  })
  return button
}

for (const popover of document.querySelectorAll('[popover]')) {
  popover.addEventListener('click', ({ target }) => {
    if (target.closest('a[href^="#"]')) popover.hidePopover()
  })
}

// A link to dispute a figure carries its document and its name into the example.
const disputed = new URLSearchParams(location.search)
const example = document.querySelector('#example ~ pre code')
if (location.pathname === '/docs/disputing' && disputed.has('path') && example !== null) {
  const quoted = (name) => JSON.stringify(disputed.get(name))
  example.textContent = example.textContent
    .replace("'/api/v1/rails'", () => quoted('path'))
    .replace(/^ *signature: '',$/m, (line) => (disputed.has('figure') ? `  figure: ${quoted('figure')},\n${line}` : line))
}

for (const head of document.querySelectorAll('.code .hd')) {
  const blocks = [...head.parentElement.querySelectorAll('pre')]
  head.append(copyButton(() => blocks.find((block) => block.checkVisibility()).innerText))
}
for (const block of document.querySelectorAll('.docs pre')) {
  if (block.closest('.code, .answer')) continue
  const box = document.createElement('div')
  box.className = 'copied'
  block.replaceWith(box)
  box.append(block, copyButton(() => block.innerText))
}

// One language for all samples.
const languages = [...document.querySelectorAll('.code input')]
function chooseLanguage(language) {
  for (const input of languages) if (input.value === language) input.checked = true
}
try {
  chooseLanguage(localStorage.getItem('language'))
} catch {
  // Storage may be blocked.
}
for (const input of languages) {
  input.addEventListener('change', () => {
    chooseLanguage(input.value)
    try {
      localStorage.setItem('language', input.value)
    } catch {
      // The choice then ends with the page.
    }
  })
}

/** Sets the tooltip of each time to its age. */
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

for (const box of document.querySelectorAll('.verify')) {
  const button = box.querySelector('button')
  button.disabled = false
  button.addEventListener('click', async () => {
    const { showDocumentCheck, showReceiptCheck } = await import('/assets/verify.js')
    const result = box.querySelector('.result')
    await (box.dataset.verify ? showDocumentCheck(box.dataset.verify, result, button) : showReceiptCheck(box.dataset, result, button))
  })
}

for (const box of document.querySelectorAll('[data-health]')) {
  try {
    const health = await (await fetch(box.dataset.health)).json()
    const age = health.snapshot_age_s === null ? 'unknown' : `${Math.round(health.snapshot_age_s / 60)} min`
    const problems = health.problems.length === 0 ? 'no trouble of its own' : health.problems.join('; ')
    box.textContent = `The service, apart from the rails: ${health.status}, database ${health.database}, published documents ${age} old, ${problems}.`
  } catch {
    box.textContent = 'The service does not respond; this page is a copy.'
  }
}
