import { pathOf } from '../../src/contract/routes.ts'
import type { Article } from '../../src/contract/schemas/desk.ts'
import { byDate, rankArticles } from '../desk/ranking.ts'
import type { ArticleSource } from '../world/articles.ts'
import type { World } from '../world/world.ts'
import { jsonDocument, snapshotFamily, textDocument } from './document.ts'

const ranking = 'articles above the median of views_24h first, then newest date first'
const neverUpdated = '1970-01-01'

/** `/desk/feed.json`, each article as Markdown, and the charts of the articles. */
export const deskDocuments = snapshotFamily(['articles', 'site', 'views24h'], function* (world) {
  const ranked = rankArticles(world).map(({ views24h, hot, ...article }): Article => ({
    ...articleView(article, world),
    views_24h: views24h,
    ...(hot ? { hot } : {}),
  }))
  // The archive has no views, since views are not facts.
  const dated = world.articles.toSorted(byDate).map((article) => articleView(article, world))
  yield jsonDocument('getDeskFeed', feedOf(world, ranked), { archive: feedOf(world, dated) })
  for (const article of world.articles) {
    const params = { slug: article.slug }
    yield textDocument('getDeskArticle', articleText(article, world), { params, archived: true })
    for (const { name, svg } of article.charts) {
      yield textDocument('getDeskChart', svg, { params: { name }, archived: true })
    }
  }
})

type DatedArticle = Omit<Article, 'views_24h' | 'hot'>

function feedOf({ site }: Pick<World, 'site'>, articles: readonly DatedArticle[]) {
  return {
    articles,
    count: articles.length,
    cadence: 'weekly',
    docs: `${site.url}${pathOf('getDeskSkill')}`,
    ranking,
    updated: articles.map(({ date }) => date).reduce((a, b) => (a > b ? a : b), neverUpdated),
  }
}

function articleView(article: ArticleSource, world: Pick<World, 'site'>): DatedArticle {
  const { slug, title, date, excerpt, keywords } = article
  return { slug, title, date, url: articleUrl(article, world), excerpt, keywords: [...keywords] }
}

function articleUrl({ slug }: ArticleSource, { site }: Pick<World, 'site'>): string {
  return `${site.url}${pathOf('getDeskArticle', { slug })}`
}

function articleText(article: ArticleSource, world: Pick<World, 'site'>): string {
  const fields = [
    `title: ${quoted(article.title)}`,
    `date: ${article.date}`,
    `canonical_url: ${quoted(articleUrl(article, world))}`,
    `keywords: [${article.keywords.map(quoted).join(', ')}]`,
  ]
  return `---\n${fields.join('\n')}\n---\n\n${article.body.trimEnd()}\n`
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
