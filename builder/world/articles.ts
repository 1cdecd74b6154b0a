/** Hand-written articles: `data/desk/<slug>.md`, Markdown with front matter. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { date } from '../../src/contract/schemas/common.ts'
import { deskSlug } from '../../src/contract/schemas/desk.ts'
import { parseFrontMatter } from '../../src/core/front-matter.ts'
import { checkedPart } from './authored-file.ts'

/** Published as `/desk/<name>.svg`. */
interface ArticleChart {
  readonly name: string
  readonly svg: string
}

export interface ArticleSource {
  readonly slug: string
  readonly title: string
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly excerpt: string
  readonly keywords: readonly string[]
  /** Markdown without front matter and without a first-level heading. */
  readonly body: string
  readonly charts: readonly ArticleChart[]
}

export const weeklySlugPrefix = 'ledger-week-'

const slugSchema = deskSlug.refine(
  (slug) => !slug.startsWith(weeklySlugPrefix),
  `begins with "${weeklySlugPrefix}", which the builder's own articles do`,
)

const fieldsSchema = z.strictObject({
  title: z.string().trim().min(1).max(200),
  date,
  excerpt: z.string().trim().min(1).max(600),
  keywords: z.array(z.string().trim().min(1).max(60)).min(1).max(20),
})

const bodySchema = z.string().refine((body) => body.trim() !== '', 'is empty')

/** @throws Error that names the file and the field */
export async function loadArticles(dir: string): Promise<readonly ArticleSource[]> {
  const entries = await readdir(dir)
  const names = entries.filter((name) => name.endsWith('.md')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const path = join(dir, name)
      return parseArticle(path, name.slice(0, -'.md'.length), await readFile(path, 'utf8'))
    }),
  )
}

function parseArticle(path: string, slug: string, text: string): ArticleSource {
  return {
    slug: checkedPart(path, slugSchema, slug, 'file name'),
    ...parseMarkdownFile(path, text, fieldsSchema),
    charts: [],
  }
}

/** @throws Error that names the file and the field */
export function parseMarkdownFile<T>(
  path: string,
  text: string,
  schema: z.ZodType<T>,
): T & { readonly body: string } {
  const { fields, body } = split(path, text)
  return {
    ...checkedPart(path, schema, fields, 'front matter'),
    body: checkedPart(path, bodySchema, body, 'body'),
  }
}

function split(path: string, text: string): ReturnType<typeof parseFrontMatter> {
  try {
    return parseFrontMatter(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`${path}: ${message}`, { cause: error })
  }
}
