import { errorCodes } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { similar } from '../core/similar.ts'
import type { DocumentStore } from './document-store.ts'

/**
 * Published paths that differ from `path` in one name, which resembles that of `path`.
 * @param template the route, such as `/api/v1/rails/{name}/history`; without a parameter, the last segment is the name
 */
export function similarPaths(
  { state }: Pick<DocumentStore, 'state'>,
  path: string,
  template = '',
): readonly string[] {
  const form = template.includes('{') ? template : path.replace(/[^/]*$/, '{name}')
  const [before = '', after = ''] = form.split(/\{\w+\}/)
  const nameIn = (place: string) => place.slice(before.length, place.length - after.length)
  const wanted = nameIn(path)
  const names = (state().manifest?.documents ?? [])
    .filter((document) => document.path.startsWith(before) && document.path.endsWith(after))
    .map((document) => nameIn(document.path))
    .filter((name) => !name.includes('/') && name.includes('.') === wanted.includes('.'))
  return similar(names, wanted).map((name) => `${before}${name}${after}`)
}

/** For a 404 that says nothing else: the published paths that resemble the requested one. */
export function suggestion(
  code: ErrorCode,
  store: Pick<DocumentStore, 'state'>,
  path: string,
  template?: string,
): string | undefined {
  const { status, remedy } = errorCodes[code]
  const near = status === 404 ? similarPaths(store, path, template) : []
  return near.length === 0 ? undefined : `Similar: ${near.join(', ')}. ${remedy}`
}
