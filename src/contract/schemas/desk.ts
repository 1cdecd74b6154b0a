import { z } from 'zod'

import { count, date, model, url, list, text } from './common.ts'

export const deskSlug = z
  .string()
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be the slug of an article')
  .max(120)

export const article = model('Article', {
  slug: deskSlug,
  title: text(200),
  date,
  url,
  excerpt: text(600),
  keywords: list(text(60), 20),
  views_24h: count,
  hot: z.literal(true).optional(),
})
export type Article = z.infer<typeof article>

export const deskFeed = model('DeskFeed', {
  articles: list(article, 2000),
  count,
  cadence: text(200),
  docs: url,
  ranking: text(300),
  updated: date,
})
