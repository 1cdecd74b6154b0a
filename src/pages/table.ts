/**
 * Tables. With the script of the site, readers can sort them by their headers. On narrow screens the rows of tables with
 * more than three columns are cards; the script then gives browsers that forget the table its roles.
 */
import { showAll } from './blocks.ts'
import { amount, count, day, time, timeMs } from './figures.ts'
import type { TimeValue } from './figures.ts'
import { renderInline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'

export interface TableCell {
  readonly content: Inline
  /** Sort key; null (unknown) is last in both directions. */
  readonly order: string | number | null
}

interface ColumnOptions {
  /** Unit and window, shown below the label. */
  readonly unit?: string
  /** `figure` is right-aligned; `wide` has a minimum width, for sentences. */
  readonly kind?: 'doubt-column' | 'figure' | 'volume' | 'wide'
  readonly sortable?: false
}

export interface TableColumn<Row> extends ColumnOptions {
  readonly label: string
  readonly cell: (row: Row) => TableCell | Inline
}

interface TableOptions<Row> {
  readonly id: string
  readonly caption: Inline
  readonly columns: readonly (TableColumn<Row> | null)[]
  /** Shown instead of a table without rows. */
  readonly empty?: Inline
  /** Unless given, tables with more than three columns are cards on narrow screens. */
  readonly isCards?: true
  /** False for a table without any sortable column. */
  readonly sortable?: false
  /** Null: the row has none. */
  readonly rowId?: (row: Row) => string | null
  /** `data-` attributes that filters match. */
  readonly rowData?: (row: Row) => Readonly<Record<string, string>>
}

export function cell(content: Inline, order: string | number | null): TableCell {
  return { content, order }
}

export function column<Row>(
  label: string,
  show: TableColumn<Row>['cell'],
  options: ColumnOptions = {},
): TableColumn<Row> {
  return { label, cell: show, ...options }
}

/** A column of links or sentences, which have no useful order. */
export function fixedColumn<Row>(label: string, show: TableColumn<Row>['cell'], kind?: 'wide') {
  return column(label, show, { sortable: false, ...(kind && { kind }) })
}

export function figureColumn<Row>(
  label: string,
  unit: string | null,
  show: TableColumn<Row>['cell'],
): TableColumn<Row> {
  return { label, cell: show, kind: 'figure', ...(unit !== null && { unit }) }
}

function numberColumn(show: (value: number | null) => HtmlAndMarkdown) {
  return <Row>(label: string, unit: string | null, value: (row: Row) => number | null) =>
    figureColumn(label, unit, (row: Row) => cell(show(value(row)), value(row)))
}

/** Amounts without their unit, which the header of the column shows. */
export const amountColumn = numberColumn(amount)
export const countColumn = numberColumn(count)

export function dayColumn<Row>(label: string, at: (row: Row) => TimeValue) {
  return column(label, (row: Row) => cell(day(at(row)), timeMs(at(row))))
}

export function timeCell(at: TimeValue): TableCell {
  return cell(time(at), timeMs(at))
}

/** The first cell of a row is its header. The caption is outside the scrolling box. */
export function table<Row>(rows: readonly Row[], options: TableOptions<Row>): HtmlAndMarkdown {
  const { id } = options
  if (rows.length === 0) {
    const empty = renderInline(options.empty ?? '')
    return { html: html`<p class="empty">${empty.html}</p>`, md: empty.md }
  }
  const caption = renderInline(options.caption)
  const columns = options.columns.filter((shown) => shown !== null)
  const cells = rows.map((row) => columns.map((shown) => cellOf(shown.cell(row))))
  const isCards = options.isCards ?? columns.length > 3
  const head = columns.map((shown) => headerCell(shown, options.sortable))
  const body = rows.map((row, at) => bodyRow(row, cells[at] ?? [], columns, options))
  return {
    html: html`<p class="caption" id="${id}-caption">${caption.html}</p>
      <div class="scroll" role="region" aria-labelledby="${id}-caption" tabindex="0">
        <table id="${id}" aria-labelledby="${id}-caption" ${isCards && html` class="cards"`}>
          <thead>
            <tr>
              ${head}
            </tr>
          </thead>
          <tbody>
            ${body}
          </tbody>
        </table>
      </div>
      ${isCards && showAll(rows.length)?.html}`,
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

function cellOf(value: TableCell | Inline) {
  return typeof value === 'object' && value !== null && 'content' in value
    ? { content: renderInline(value.content), order: value.order }
    : { content: renderInline(value), order: undefined }
}

function headerCell(
  { label, unit, kind, sortable }: ColumnOptions & { readonly label: string },
  isTableSortable: false | undefined,
): Html {
  const under = unit === undefined ? null : html`<small>${unit}</small>`
  const isFixed = sortable === false || isTableSortable === false
  const attributes = html`${kind && html` class="${kind}"`}${isFixed ? null : html` data-sortable`}`
  return html`<th scope="col" ${attributes}><span>${label}</span>${under}</th>`
}

function bodyRow<Row>(
  row: Row,
  cells: readonly ReturnType<typeof cellOf>[],
  columns: readonly Omit<TableColumn<Row>, 'cell'>[],
  { rowId, rowData }: TableOptions<Row>,
): Html {
  const data = Object.entries(rowData?.(row) ?? {})
  const attributes = data.map(([name, value]) => html` data-${name}="${value}"`)
  const name = rowId?.(row) ?? null
  const id = name === null ? null : html` id="${name}"`
  return html`<tr${id}${attributes}>${cells.map(({ content, order }, at) => {
    const kind = columns[at]?.kind
    const shape = kind === undefined ? null : html` class="${kind}"`
    // A cell without `order` is sorted by its text. An empty `order` means unknown.
    const sort = order === undefined ? null : html` data-order="${order ?? ''}"`
    return at === 0
      ? html`<th scope="row" ${shape}${sort}>${content.html}</th>`
      : html`<td${shape}${sort} data-label="${columns[at]?.label ?? ''}">${content.html}</td>`
  })}</tr>
`
}
