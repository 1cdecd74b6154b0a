/** Hand-written articles: `data/desk/<slug>.md`, Markdown with front matter. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { z } from 'zod'

import { date } from '../../src/contract/schemas/common.ts'
import { deskSlug } from '../../src/contract/schemas/desk.ts'
import { parseFrontMatter } from '../../src/core/front-matter.ts'
import { checkedPart } from './authored-file.ts'

export const weeklySlugPrefix = 'ledger-week-'

/** True for a post that is generated from the figures of a week. */
export function isWeekly({ slug }: Pick<ArticleSource, 'slug'>): boolean {
  return slug.startsWith(weeklySlugPrefix)
}

const slugSchema = deskSlug.refine(
  (slug) => !isWeekly({ slug }),
  `begins with "${weeklySlugPrefix}", which is reserved for weekly articles`,
)

const fieldsSchema = z.strictObject({
  title: z.string().trim().min(1).max(200),
  date,
  excerpt: z.string().trim().min(1).max(600),
  keywords: z.array(z.string().trim().min(1).max(60)).min(1).max(20),
})

export interface ArticleSource extends z.infer<typeof fieldsSchema> {
  readonly slug: string
  /** Markdown without front matter and without a first-level heading. */
  readonly body: string
  /** Published as `/desk/<name>.svg`. */
  readonly charts: readonly { readonly name: string; readonly svg: string }[]
}

const bodySchema = z.string().refine((body) => body.trim() !== '', 'is empty')

/** @throws Error that names the file and the field */
export async function loadArticles(dir: string): Promise<readonly ArticleSource[]> {
  const articles = await readMarkdownFiles(dir, fieldsSchema)
  return articles.map(({ file, ...article }): ArticleSource => {
    const slug = checkedPart(file, slugSchema, basename(file, '.md'), 'file name')
    return { slug, ...article, charts: [] }
  })
}

/** Front matter and body of each file, by name. @throws Error that names the file and the field */
export async function readMarkdownFiles<T extends object>(
  dir: string,
  schema: z.ZodType<T>,
): Promise<(T & { readonly file: string; readonly body: string })[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.md')).toSorted()
  return await Promise.all(
    names.map(async (name) => {
      const file = join(dir, name)
      const { fields, body } = split(file, await readFile(file, 'utf8'))
      return {
        ...checkedPart(file, schema, fields, 'front matter'),
        file,
        body: checkedPart(file, bodySchema, body, 'body'),
      }
    }),
  )
}

function split(path: string, text: string): ReturnType<typeof parseFrontMatter> {
  try {
    return parseFrontMatter(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`${path}: ${message}`, { cause: error })
  }
}
