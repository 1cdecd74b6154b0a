import { markdownText } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'

/** The Markdown form of a page. A file read on its own has no base address, so paths become absolute. */
export function markdownPage(
  { path, title, description }: SitePage,
  body: string,
  siteUrl: string,
): string {
  const parts = [
    `# ${markdownText(title)}`,
    `> ${markdownText(description)}`,
    body,
    '---',
    `This page as HTML: ${siteUrl}${path} · all pages: ${siteUrl}/llms.txt`,
  ]
  return `${parts.join('\n\n').replace(/(?<!\\)\]\(\//g, () => `](${siteUrl}/`)}\n`
}
