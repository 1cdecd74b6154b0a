// Sends the request that is chosen on `/docs/try` to this site, and shows its answer as text.

const form = document.querySelector('form.try')
const sections = [...form.querySelectorAll('section')]
const { endpoint } = form.elements
const actions = form.querySelector('.actions')
const answer = form.querySelector('.answer')
const [state, headers, body] = ['[role=status]', 'details pre', '.out'].map((name) => answer.querySelector(name))
const shownAtMost = 200_000

const chosen = () => document.getElementById(endpoint.value)
const isRead = (section) => section.dataset.method === 'GET'

/** The path and query with the values of the fields. */
function addressOf(section) {
  const query = new URLSearchParams()
  let { path } = section.dataset
  for (const { name, value, dataset } of section.querySelectorAll('[data-in]')) {
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value.trim()))
    else if (value.trim() !== '') query.append(name, value.trim())
  }
  return query.size === 0 ? path : `${path}?${query}`
}

function showCommand() {
  const section = chosen()
  if (!isRead(section)) return
  const code = section.querySelector('pre code')
  code.dataset.rest ??= code.textContent.replace(/^.*/, '')
  const address = `${location.origin}${addressOf(section)}`.replaceAll("'", '%27')
  code.textContent = `curl -sS '${address}'${code.dataset.rest}`
}

function choose() {
  for (const section of sections) {
    section.hidden = section !== chosen()
    const fields = section.querySelector('fieldset')
    fields.disabled = section.hidden
    fields.hidden = fields.querySelector('label') === null || !isRead(section)
  }
  actions.hidden = !isRead(chosen())
  answer.hidden = true
  showCommand()
}

/** JSON is indented; other bytes than text are only named. */
async function textOf(response) {
  const type = response.headers.get('content-type') ?? ''
  if (!/json|text|javascript|xml/.test(type)) {
    return `${(await response.arrayBuffer()).byteLength} bytes of ${type || 'an unnamed type'}`
  }
  const text = await response.text()
  const shown = type.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text
  const more = shown.length - shownAtMost
  return more > 0 ? `${shown.slice(0, shownAtMost)}\n… ${more} more characters` : shown
}

async function send() {
  const started = performance.now()
  const address = addressOf(chosen())
  answer.hidden = false
  state.textContent = 'Waiting for the answer.'
  for (const box of [headers, body]) box.textContent = ''
  try {
    const response = await fetch(address)
    body.textContent = await textOf(response)
    headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const took = Math.round(performance.now() - started)
    state.textContent = `${response.status} ${response.statusText}, ${took} ms, GET ${address}`
  } catch (error) {
    state.textContent = `No answer: ${error.message}`
  }
}

function followHash() {
  const id = location.hash.slice(1)
  if (sections.some((section) => section.id === id)) endpoint.value = id
  choose()
}

for (const part of [endpoint.parentElement, actions]) part.hidden = false
endpoint.addEventListener('change', () => {
  history.replaceState(null, '', `#${endpoint.value}`)
  choose()
})
form.addEventListener('input', showCommand)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (isRead(chosen())) void send()
})
addEventListener('hashchange', followHash)
if (location.hash === '') endpoint.value = 'listRails'
followHash()
