/** Text for XML made by hand: names come from rails, workers and articles, so nothing is trusted. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Characters that XML 1.0 cannot hold even escaped (section 2.2): controls, halves of pairs, non-characters. */
// oxlint-disable-next-line no-control-regex -- controls are what is taken out
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ud800-\udfff\ufffe\uffff]/gu

/** Text for content or a quoted attribute of XML. */
export function xmlText(text: string): string {
  return text.replace(notXml, '').replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
