export const demoSentence =
  'Demo ledger: all workers, receipts, jobs and figures on it are invented. Invented receipts and trades between your own wallets are welcome.'

/** Transactions of a demo begin with 16 zeros, which is as good as impossible on a chain. */
export const isInvented = (txHash: string): boolean => /^(?:0x)?0{16}/.test(txHash)

/** After the front matter. */
export function markMarkdownAsDemo(text: string): string {
  return text.replace(
    /^(?:---\n.*?\n---\n)?/s,
    (frontMatter) => `${frontMatter}> ${demoSentence}\n\n`,
  )
}

export function markPageAsDemo(page: string): string {
  return page.replace(
    '<header>',
    `<aside class="demo" aria-label="Demo">${demoSentence}</aside><header>`,
  )
}
