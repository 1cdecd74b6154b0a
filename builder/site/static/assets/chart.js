// Shows the values of one day of a chart, by pointer, touch or arrow keys. They are also in the table below the chart.

const dayOf = (text) => Date.parse(text) / 86_400_000

/** The rows of the table, oldest first: one day, or the first and last day of a gap. */
function readRows(plot) {
  const names = [...plot.querySelectorAll('thead th')].map((cell) => cell.textContent)
  const rows = [...plot.querySelectorAll('tbody tr')].map(({ cells: [name, ...cells] }) => {
    const days = name.textContent.match(/\d{4}-\d\d-\d\d/g).map(dayOf)
    const values = cells.map((cell, at) => {
      const value = cell.textContent.trim()
      return cell.colSpan > 1 ? value : `${names[at + 1].toLowerCase()} ${value}`
    })
    return { from: days[0], to: days.at(-1), text: `${name.textContent}: ${values.join(', ')}` }
  })
  return rows.reverse()
}

export function enableChart(plot) {
  const readout = plot.querySelector('.readout')
  const all = readRows(plot)
  for (const pane of plot.querySelectorAll('.pane')) {
    const [from, to] = [Number(pane.dataset.from), Number(pane.dataset.to)]
    const rows = all.filter((row) => row.to >= from)
    const svg = pane.querySelector('svg')
    const cursor = document.createElementNS(svg.namespaceURI, 'line')
    cursor.setAttribute('class', 'cursor')
    cursor.setAttribute('y2', '100%')
    // A slider has the keys and the announcements that a reader expects.
    const slider = document.createElement('input')
    Object.assign(slider, { type: 'range', min: 0, max: rows.length - 1, value: rows.length - 1 })
    slider.setAttribute('aria-label', 'Day')
    const name = () => slider.setAttribute('aria-valuetext', rows[slider.value].text)
    const show = (day) => {
      const row = rows[slider.value]
      const at = Math.min(Math.max(day ?? (row.from + row.to) / 2, row.from, from), row.to, to)
      const x = `${to === from ? 50 : ((at - from) / (to - from)) * 100}%`
      cursor.setAttribute('x1', x)
      cursor.setAttribute('x2', x)
      svg.append(cursor)
      readout.textContent = row.text
      name()
    }
    const point = ({ clientX }) => {
      const { left, width } = pane.getBoundingClientRect()
      const day = from + ((clientX - left) / width) * (to - from)
      const distances = rows.map((row) => Math.max(row.from - day, day - row.to, 0))
      slider.value = distances.indexOf(Math.min(...distances))
      show(day)
    }
    slider.addEventListener('input', () => show())
    slider.addEventListener('focus', () => show())
    slider.addEventListener('blur', () => cursor.remove())
    pane.addEventListener('pointermove', point)
    pane.addEventListener('pointerdown', point)
    pane.addEventListener('pointerleave', () => cursor.remove())
    name()
    pane.append(slider)
  }
}
