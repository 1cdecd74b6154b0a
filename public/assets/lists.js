// Lists that reach beyond their page, and searches that ask the API.

import { ask, element, path, rowOf } from '/assets/parts.js'

const walletForm = /^(?:0x[0-9a-fA-F]{40}|[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
const slugForm = /^[a-z0-9][a-z0-9-]{1,63}$/

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
