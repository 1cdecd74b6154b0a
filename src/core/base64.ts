/** Padded base64 (RFC 4648 section 4), for code that also runs in a browser. */

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Null unless the text is the only form of its bytes. */
export function fromBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null
  const bytes = Uint8Array.from(atob(text), (character) => character.codePointAt(0) ?? 0)
  return toBase64(bytes) === text ? bytes : null
}
