export const demoSentence =
  'Demo ledger: all workers, receipts, jobs and figures on it are invented.'

export function markPageAsDemo(page: string): string {
  return page.replace(/<main\b[^>]*>/, (tag) => `${tag}<p class="notice">${demoSentence}</p>`)
}
