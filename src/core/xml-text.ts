/** Escapes untrusted text for XML. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Characters that XML 1.0 excludes even in escaped form (section 2.2). */
// oxlint-disable-next-line no-control-regex -- controls are what is taken out
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ud800-\udfff\ufffe\uffff]/gu

/** For element content or a quoted attribute. */
export function xmlText(text: string): string {
  return text.replace(notXml, '').replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
