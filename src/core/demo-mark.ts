export const demoSentence =
  'Demo ledger: all workers, receipts, jobs and figures on it are invented.'

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
