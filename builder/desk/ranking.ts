import { median } from '../../src/core/median.ts'
import type { ArticleSource } from '../world/articles.ts'
import type { World } from '../world/world.ts'

/** `hot` articles, with more views than the median, come first. Ties are ordered by date, newest first, and then by slug. */
export function rankArticles({ articles, views24h }: Pick<World, 'articles' | 'views24h'>) {
  const viewsOf = ({ slug }: ArticleSource) => views24h.get(slug) ?? 0
  const middle = median(articles.map(viewsOf))
  return articles
    .map((article) => ({ ...article, views24h: viewsOf(article), hot: viewsOf(article) > middle }))
    .toSorted((a, b) => Number(b.hot) - Number(a.hot) || byDate(a, b))
}

export function byDate(a: ArticleSource, b: ArticleSource): number {
  if (a.date !== b.date) return a.date > b.date ? -1 : 1
  return a.slug < b.slug ? -1 : 1
}
