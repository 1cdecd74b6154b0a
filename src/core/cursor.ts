/**
 * Cursors of lists: opaque to clients, for us the sequence number after which a page begins. The name
 * of the list is in it, so that the cursor of one list is none of another.
 */

const FORM = /^([a-z]+)\.(0|[1-9]\d{0,15})$/

export function encodeCursor(list: string, seq: number): string {
  return btoa(`${list}.${seq}`).replaceAll('=', '')
}

/** The sequence number of a cursor of this list, or null where it is none of ours. */
export function decodeCursor(list: string, cursor: string): number | null {
  if (!/^[A-Za-z0-9]{2,64}$/.test(cursor)) return null
  const match = FORM.exec(decode(cursor))
  const seq = Number(match?.[2] ?? Number.NaN)
  // One spelling only: what decodes must encode to the same text.
  return match?.[1] === list && encodeCursor(list, seq) === cursor ? seq : null
}

function decode(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}
