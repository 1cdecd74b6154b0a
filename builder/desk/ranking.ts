import { median } from '../../src/core/median.ts'
import type { ArticleSource } from '../world/articles.ts'
import type { World } from '../world/world.ts'

export interface RankedArticle extends ArticleSource {
  readonly views24h: number
  readonly hot: boolean
}

/** `hot` articles, with more views than the median, come first. Ties are ordered by date, newest first, and then by slug. */
export function rankArticles({
  articles,
  views24h,
}: Pick<World, 'articles' | 'views24h'>): RankedArticle[] {
  const viewsOf = ({ slug }: ArticleSource) => views24h.get(slug) ?? 0
  const middle = median(articles.map(viewsOf))
  return articles
    .map((article) => {
      const views = viewsOf(article)
      return { ...article, views24h: views, hot: views > middle }
    })
    .toSorted((a, b) => Number(b.hot) - Number(a.hot) || byDate(a, b))
}

export function byDate(a: ArticleSource, b: ArticleSource): number {
  if (a.date !== b.date) return a.date > b.date ? -1 : 1
  return a.slug < b.slug ? -1 : 1
}
