const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Characters excluded by XML 1.0 section 2.2 even in escaped form. */
// oxlint-disable-next-line no-control-regex -- control characters are removed
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ud800-\udfff\ufffe\uffff]/gu

export function xmlText(text: string): string {
  return text.replace(notXml, '').replace(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** A coordinate in an SVG, with at most two decimals. */
export function px(value: number): string {
  return String(Math.round(value * 100) / 100)
}
