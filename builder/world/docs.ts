import { z } from 'zod'

import { readMarkdownFiles } from './articles.ts'

const path = z.string().regex(/^(?:\/[a-z0-9-]+)+$/)
const assets = z.array(z.string().regex(/^\/assets\/[\w./-]+$/))

/** In the order of the side navigation. */
export const docsGroups = [
  'Begin',
  'By task',
  'Write and pay',
  'Trust',
  'Reference',
  'Operate',
] as const

const fields = z.strictObject({
  path,
  order: z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number),
  /** Heading under which the side navigation lists the page; absent from it without one. */
  group: z.enum(docsGroups).optional(),
  title: z.string().min(1).max(200),
  description: z.string().min(1).max(400),
  /** Path of the navigation entry that is highlighted on the page. */
  nav: path.default('/docs'),
  /** Address and title of the JSON document with the same content. */
  alternate: z.tuple([path.or(z.string().regex(/^\/[\w./-]+$/)), z.string()]).optional(),
  scripts: assets.optional(),
})

/** `{{name}}` and `<!-- block: name -->` in `description` and `body` are filled in when the page is rendered. */
export interface DocsSource extends z.infer<typeof fields> {
  readonly body: string
}

export async function loadDocs(dir: string): Promise<readonly DocsSource[]> {
  const pages = await readMarkdownFiles(dir, fields)
  return pages.map(({ file: _, ...page }) => page).toSorted((a, b) => a.order - b.order)
}
