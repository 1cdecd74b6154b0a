import { z } from 'zod'

import { count, date, model, url } from './common.ts'

export const deskSlug = z
  .string()
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
  .max(120)

export const article = model('Article', {
  slug: deskSlug,
  title: z.string().max(200),
  date,
  url,
  excerpt: z.string().max(600),
  keywords: z.array(z.string().max(60)).max(20),
  views_24h: count,
  hot: z
    .literal(true)
    .optional()
    .describe('Present only on articles above the median of views_24h.'),
})
export type Article = z.infer<typeof article>

export const deskFeed = model('DeskFeed', {
  articles: z.array(article).max(2000),
  count,
  cadence: z.string().max(200),
  docs: url,
  ranking: z.string().max(300),
  updated: date,
})
