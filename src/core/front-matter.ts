const FENCE = '---'
const FIELD = /^([a-z][a-z0-9_]*):(?: (.*))?$/
const DOUBLE_QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/
const SINGLE_QUOTED = /^'((?:[^']|'')*)'$/
const LIST_ITEM = /\s*(?:("(?:[^"\\]|\\["\\])*"|'(?:[^']|'')*')\s*|([^,"'[\]{}][^,[\]{}]*))(,|$)/y

/** Text that YAML reads as something other than a plain string. */
const NOT_PLAIN = /^["'?:,[\]{}#&*!|>%@`]|^-(?: |$)|: |:$| #/

/** Accepts a subset of YAML: one string or flow list per line. @throws Error that starts with the line number */
export function parseFrontMatter(text: string) {
  const lines = text.split(/\r?\n/)
  if (lines[0] !== FENCE) throw malformed(1, `the text does not start with "${FENCE}"`)
  const end = lines.indexOf(FENCE, 1)
  if (end === -1) throw malformed(1, `the front matter has no closing "${FENCE}" line`)

  const fields = new Map<string, string | string[]>()
  for (const [index, line] of lines.slice(1, end).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const number = index + 2
    const [, key, value = ''] = FIELD.exec(line) ?? []
    if (key === undefined) throw malformed(number, `"${line}" does not have the form "key: value"`)
    if (fields.has(key)) throw malformed(number, `"${key}" is defined twice`)
    fields.set(key, parseValue(value.trim(), number))
  }

  const body = lines
    .slice(end + 1)
    .join('\n')
    .replace(/^\n+/, '')
  return { fields: Object.fromEntries(fields), body }
}

function parseValue(source: string, line: number): string | string[] {
  if (source === '') throw malformed(line, 'the value is empty')
  if (!source.startsWith('[')) return parseScalar(source, line)
  if (!source.endsWith(']')) throw malformed(line, 'the list is not closed by "]"')
  const inner = source.slice(1, -1).trim()
  return inner === '' ? [] : parseItems(inner, line)
}

function parseItems(source: string, line: number): string[] {
  const items: string[] = []
  let at = 0
  for (;;) {
    LIST_ITEM.lastIndex = at
    const match = LIST_ITEM.exec(source)
    if (match === null)
      throw malformed(line, `the list is invalid from "${source.slice(at)}" onward`)
    const [whole, quoted, plain = '', separator] = match
    items.push(parseScalar(quoted ?? plain.trim(), line))
    if (separator === '') return items
    at += whole.length
  }
}

function parseScalar(source: string, line: number): string {
  const double = DOUBLE_QUOTED.exec(source)?.[1]
  if (double !== undefined) return double.replace(/\\(["\\])/g, '$1')
  const single = SINGLE_QUOTED.exec(source)?.[1]
  if (single !== undefined) return single.replaceAll("''", "'")
  if (source === '' || NOT_PLAIN.test(source)) {
    throw malformed(line, `"${source}" must be in quotes, with a closing quote`)
  }
  return source
}

function malformed(line: number, reason: string): Error {
  return new Error(`line ${line}: ${reason}`)
}
