/** Sortable by headers with the site's script, complete without it. */
import { renderInline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'

interface TableColumn {
  readonly label: string
  /** Unit and window, shown below the label. */
  readonly unit?: string
  readonly kind?: 'figure' | 'text'
  readonly sortable?: boolean
  /** Minimum width, for columns of sentences. */
  readonly wide?: true
}

export interface TableCell {
  readonly content: Inline
  /** Sort key; null (unknown) is last in both directions. */
  readonly order: string | number | null
}

export interface TableRow {
  readonly id?: string
  /** `data-` attributes that filters match. */
  readonly data?: Readonly<Record<string, string>>
  readonly cells: readonly (TableCell | Inline)[]
}

interface TableOptions {
  readonly id: string
  readonly caption: Inline
  readonly columns: readonly TableColumn[]
  readonly rows: readonly TableRow[]
  readonly empty: Inline
}

export function cell(content: Inline, order: string | number | null): TableCell {
  return { content, order }
}

export function unsortedTable(
  id: string,
  caption: Inline,
  columns: readonly (string | TableColumn)[],
  rows: readonly (readonly Inline[])[],
): HtmlAndMarkdown {
  return table({
    id,
    caption,
    columns: columns.map((column) => ({
      ...(typeof column === 'string' ? { label: column } : column),
      sortable: false,
    })),
    rows: rows.map((cells) => ({ cells })),
    empty: '',
  })
}

/** The first cell of a row is its header. The caption is outside the scrolling box. */
export function table(options: TableOptions): HtmlAndMarkdown {
  const { id, columns, rows } = options
  const caption = renderInline(options.caption)
  if (rows.length === 0) {
    const empty = renderInline(options.empty)
    return { html: html`<p class="empty">${empty.html}</p>`, md: empty.md }
  }
  const cells = rows.map((row) => row.cells.map(cellOf))
  const head = columns.map((column) => headerCell(column))
  const body = rows.map((row, at) => bodyRow(row, cells[at] ?? [], columns))
  return {
    html: html`<p class="caption" id="${id}-caption">${caption.html}</p>
      <div class="scroll" role="region" aria-labelledby="${id}-caption" tabindex="0">
        <table id="${id}" aria-labelledby="${id}-caption">
          <thead>
            <tr>
              ${head}
            </tr>
          </thead>
          <tbody>
            ${body}
          </tbody>
        </table>
      </div>`,
    md: [
      caption.md,
      '',
      markdownRow(
        columns.map(({ label, unit }) => (unit === undefined ? label : `${label}, ${unit}`)),
      ),
      markdownRow(columns.map(({ kind }) => (kind === 'figure' ? '---:' : '---'))),
      ...cells.map((row) => markdownRow(row.map(({ content }) => content.md))),
    ].join('\n'),
  }
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replace(/(?<!\\)\|/g, '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

interface RenderedCell {
  readonly content: HtmlAndMarkdown
  readonly order: string | number | null | undefined
}

function cellOf(value: TableCell | Inline): RenderedCell {
  return typeof value === 'object' && value !== null && 'content' in value
    ? { content: renderInline(value.content), order: value.order }
    : { content: renderInline(value), order: undefined }
}

function headerCell({ label, unit, kind, sortable }: TableColumn): Html {
  const under = unit === undefined ? null : html`<small>${unit}</small>`
  const name = kind === 'figure' ? 'figure' : null
  const attributes = html`${name && html` class="${name}"`}${sortable === false ? null : html` data-sortable`}`
  return html`<th scope="col" ${attributes}><span>${label}</span>${under}</th>`
}

function bodyRow(
  row: TableRow,
  cells: readonly RenderedCell[],
  columns: readonly TableColumn[],
): Html {
  const data = Object.entries(row.data ?? {}).map(([name, value]) => html` data-${name}="${value}"`)
  const id = row.id === undefined ? null : html` id="${row.id}"`
  return html`<tr${id}${data}>${cells.map(({ content, order }, at) => {
    const kind = cellClass(columns[at])
    // A cell without an order is sorted by its text; an empty order means unknown.
    const sort = order === undefined ? null : html` data-order="${order ?? ''}"`
    return at === 0
      ? html`<th scope="row" ${kind}${sort}>${content.html}</th>`
      : html`<td${kind}${sort}>${content.html}</td>`
  })}</tr>
`
}

function cellClass(column: TableColumn | undefined): Html | null {
  if (column?.kind === 'figure') return html` class="figure"`
  return column?.wide === true ? html` class="wide"` : null
}
