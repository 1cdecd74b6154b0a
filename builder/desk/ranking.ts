interface Viewed {
  readonly slug: string
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly views24h: number
}

export type Ranked<T> = T & { readonly hot: boolean }

/** `hot` articles, with more views than the median, come first. Ties are ordered by date, newest first, and then by slug. */
export function rankArticles<T extends Viewed>(articles: readonly T[]): Ranked<T>[] {
  const middle = median(articles.map(({ views24h }) => views24h))
  return articles
    .map((article) => ({ ...article, hot: article.views24h > middle }))
    .toSorted((a, b) => Number(b.hot) - Number(a.hot) || byDate(a, b))
}

export function byDate(a: Omit<Viewed, 'views24h'>, b: Omit<Viewed, 'views24h'>): number {
  if (a.date !== b.date) return a.date > b.date ? -1 : 1
  return a.slug < b.slug ? -1 : 1
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  return (lower + upper) / 2
}
