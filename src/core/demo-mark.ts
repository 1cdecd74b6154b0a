/** The notice on the pages and texts of a demo ledger. */
export const demoSentence =
  'Demo ledger: all workers, receipts, jobs and figures on it are invented.'

/** Adds the notice to an HTML page. */
export function markPageAsDemo(page: string): string {
  return page.replace(/<main\b[^>]*>/, (tag) => `${tag}<p class="notice">${demoSentence}</p>`)
}
