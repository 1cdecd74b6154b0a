/** The declared ordering of the feed: articles above the median of views_24h first, then newest date first. */

interface Viewed {
  readonly slug: string
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly views24h: number
}

export type Ranked<T> = T & { readonly hot: boolean }

/** In the order of the feed; `hot` are those strictly above the median of all. Ties go by slug. */
export function rankArticles<T extends Viewed>(articles: readonly T[]): Ranked<T>[] {
  const middle = median(articles.map(({ views24h }) => views24h))
  return articles
    .map((article) => ({ ...article, hot: article.views24h > middle }))
    .toSorted((a, b) => Number(b.hot) - Number(a.hot) || byDate(a, b))
}

/** Newest date first, then by slug. */
export function byDate(a: Omit<Viewed, 'views24h'>, b: Omit<Viewed, 'views24h'>): number {
  if (a.date !== b.date) return a.date > b.date ? -1 : 1
  return a.slug < b.slug ? -1 : 1
}

/** The mean of the two middle values where the count is even; 0 of nothing. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  return (lower + upper) / 2
}
