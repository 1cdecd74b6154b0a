/** Opaque cursors: a sequence number with the name of its list. */

const FORM = /^([a-z]+)\.(0|[1-9]\d{0,15})$/

export function encodeCursor(list: string, seq: number): string {
  return btoa(`${list}.${seq}`).replaceAll('=', '')
}

export function decodeCursor(list: string, cursor: string): number | null {
  if (!/^[A-Za-z0-9]{2,64}$/.test(cursor)) return null
  const match = FORM.exec(decode(cursor))
  const seq = Number(match?.[2] ?? Number.NaN)
  // Rejects other spellings of the same cursor.
  return match?.[1] === list && encodeCursor(list, seq) === cursor ? seq : null
}

function decode(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}
