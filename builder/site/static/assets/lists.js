// Appends older entries to a list. The entries come from the pages to which the link to older entries points.

/** Fetches the list at an address and returns it as a document. Throws an error with a message for the reader. */
async function fetchPage(url) {
  let response
  try {
    response = await fetch(url)
  } catch {
    throw new Error('The service does not respond.')
  }
  if (response.status === 429) {
    throw new Error(`Too many requests. Try again in ${response.headers.get('retry-after') ?? 'a few'} seconds.`)
  }
  if (!response.ok) throw new Error(`The service returned the error ${response.status}.`)
  return new DOMParser().parseFromString(await response.text(), 'text/html')
}

/** Turns the link to older entries into a button that appends them to the table of the page. */
export function enableMore(box) {
  const kind = box.dataset.more
  const table = document.getElementById(kind)
  const link = box.querySelector('a')
  if (table === null) return
  const button = document.createElement('button')
  const status = document.createElement('output')
  button.type = 'button'
  button.textContent = link.textContent
  let next = link.href
  box.replaceChildren(button, ' ', status)
  button.addEventListener('click', async () => {
    button.disabled = true
    try {
      const page = await fetchPage(next)
      table.tBodies[0].append(...page.querySelectorAll(`#${kind} tbody tr`))
      const older = page.querySelector(`[data-more="${kind}"] a`)
      button.hidden = older === null
      next = older?.getAttribute('href')
      const total = page.querySelector('form[role=search] output').textContent.replace(' found', '')
      status.textContent = `${table.tBodies[0].rows.length} of ${total} shown.`
    } catch (error) {
      status.textContent = error.message
    }
    button.disabled = false
    if (!button.hidden) button.focus()
  })
}
