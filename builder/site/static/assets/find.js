// Shows the rails that match the selection in the address. Without this script all rails are shown.
for (const form of document.querySelectorAll('form[data-find]')) {
  const rows = [...document.getElementById(form.dataset.find).tBodies[0].rows]
  const output = form.querySelector('output')
  const all = output.textContent
  const selects = [...form.querySelectorAll('select')]
  const query = new URLSearchParams(location.search)

  const show = () => {
    const wanted = selects.filter(({ value }) => value !== '').map(({ name, value }) => [name, value])
    for (const row of rows) {
      row.hidden = !wanted.every(([name, value]) => (row.dataset[name] ?? '').split(' ').includes(value))
    }
    const shown = rows.filter(({ hidden }) => !hidden).length
    const none = shown === 0 ? ' No rail matches: remove a filter.' : ''
    output.textContent = (shown === rows.length ? all : `${shown} of ${all}.`) + none
    history.replaceState(null, '', wanted.length === 0 ? '/find' : `/find?${new URLSearchParams(wanted)}`)
  }

  for (const select of selects) {
    const chosen = [...select.options].find(({ value }) => value === query.get(select.name))
    if (chosen) chosen.selected = true
    select.addEventListener('change', show)
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    show()
  })
  show()
}
