/** JSON as an attacker writes it: repeated names, and numbers and escapes that no serialiser produces. */

export type JsonText =
  | string
  | number
  | boolean
  | null
  | readonly JsonText[]
  | { readonly members: readonly Member[] }
  /** Inserted into the text unchanged. */
  | { readonly literal: string }
export type Member = readonly [name: string, value: JsonText]

type Path = readonly number[]

export function jsonText(value: JsonText): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if ('literal' in value) return value.literal
  if ('members' in value) {
    return `{${value.members.map(([name, own]) => `${JSON.stringify(name)}:${jsonText(own)}`).join(',')}}`
  }
  return `[${value.map((item) => jsonText(item)).join(',')}]`
}

export function object(members: Readonly<Record<string, JsonText>>): JsonText {
  return { members: Object.entries(members) }
}

/** Converts parsed JSON into a form that can be changed. */
export function textOf(value: unknown): JsonText {
  if (Array.isArray(value)) return value.map((item) => textOf(item))
  if (typeof value === 'object' && value !== null) {
    return { members: Object.entries(value).map(([name, own]) => [name, textOf(own)]) }
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  return null
}

/** A change at one place of a document. `at` counts places and wraps around. */
export type Change =
  | { readonly at: number; readonly kind: 'replace'; readonly by: JsonText }
  | { readonly at: number; readonly kind: 'remove' | 'repeat' | 'wrap' | 'text' }
  | { readonly at: number; readonly kind: 'add'; readonly name: string; readonly by: JsonText }
  | { readonly at: number; readonly kind: 'rename'; readonly name: string }

export function changed(document: JsonText, changes: readonly Change[]): JsonText {
  return changes.reduce((value, change) => {
    const places = placesOf(value)
    return applied(value, places[change.at % places.length] ?? [], change)
  }, document)
}

function placesOf(value: JsonText, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || 'literal' in value) return [path]
  const below =
    'members' in value
      ? value.members.map(([, own], at) => placesOf(own, [...path, at]))
      : value.map((item, at) => placesOf(item, [...path, at]))
  return [path, ...below.flat()]
}

function applied(value: JsonText, path: Path, change: Change): JsonText {
  const [step, ...rest] = path
  if (step === undefined || typeof value !== 'object' || value === null || 'literal' in value) {
    return atPlace(value, change)
  }
  const members: readonly Member[] =
    'members' in value ? value.members : value.map((own) => ['', own])
  const member = members[step] ?? ['', null]
  const changedMembers = members.toSpliced(step, 1, ...replacements(member, rest, change))
  return 'members' in value ? { members: changedMembers } : changedMembers.map(([, own]) => own)
}

function replacements(member: Member, path: Path, change: Change): readonly Member[] {
  const [name, own] = member
  if (path.length === 0 && change.kind === 'remove') return []
  if (path.length === 0 && change.kind === 'repeat') return [member, member]
  if (path.length === 0 && change.kind === 'rename') return [[change.name, own]]
  return [[name, applied(own, path, change)]]
}

function atPlace(value: JsonText, change: Change): JsonText {
  switch (change.kind) {
    case 'replace':
      return change.by
    case 'wrap':
      return [value]
    case 'text':
      return jsonText(value)
    case 'add':
      return addTo(value, change)
    case 'remove':
    case 'repeat':
    case 'rename':
      break
  }
  return value
}

function addTo(value: JsonText, { name, by }: Change & { readonly kind: 'add' }): JsonText {
  if (typeof value !== 'object' || value === null || 'literal' in value) return by
  return 'members' in value ? { members: [...value.members, [name, by]] } : [...value, by]
}
