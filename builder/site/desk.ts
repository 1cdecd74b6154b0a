/** `/desk` and its articles. The Markdown form of an article is published by the API documents. */
import { pathOf } from '../../src/contract/routes.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links, para, rows, section } from '../../src/pages/blocks.ts'
import { day, mark } from '../../src/pages/figures.ts'
import { inline, join, link, small, untrustedText } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { articlePath } from '../../src/pages/paths.ts'
import { cell, column, countColumn, dayColumn, table } from '../../src/pages/table.ts'
import { rankArticles } from '../desk/ranking.ts'
import { isWeekly } from '../world/articles.ts'
import type { ArticleSource } from '../world/articles.ts'
import { pageSource } from './page-source.ts'
import { renderMarkdown } from './prose.ts'

const feeds = [
  { type: 'application/atom+xml', href: '/feeds/desk.atom', title: 'The desk' },
  { type: 'application/feed+json', href: '/feeds/desk.json', title: 'The desk' },
] as const

export const deskPage = pageSource(['articles', 'views24h'], (world) => {
  const ranked = rankArticles(world)
  const essays = ranked.filter((article) => !isWeekly(article))
  const weekly = ranked.filter(isWeekly)
  return {
    path: '/desk',
    title: 'The desk',
    description: `${counted(essays.length, 'essay')} on what rails pay and how to read their figures, and ${counted(weekly.length, 'weekly post')} generated from the figures.`,
    nav: '/desk',
    feeds,
    body: [
      introduction(
        'Essays are written by hand. The weekly posts are generated from the polls and flags of their week.',
      ),
      section(
        'essays',
        'Essays',
        essays.length === 0
          ? para('No essays yet.', 'empty')
          : rows(
              essays.map((article) => ({
                name: inline`${articleLink(article)} ${mark(article.hot ? 'popular' : null)}`,
                text: untrustedText(article.excerpt),
                end: inline`${day(article.date)} ${article.views24h === 0 ? null : small(`${counted(article.views24h, 'view')} in 24 hours`)}`,
              })),
            ),
      ),
      section(
        'weekly',
        'Weekly posts, generated',
        table(weekly, {
          id: 'weekly-posts',
          caption: 'Views are counted hourly and without cookies.',
          columns: [
            column('Post', (article) => cell(articleLink(article), article.title.toLowerCase())),
            dayColumn('Date', ({ date }) => date),
            countColumn('Views', '24 hours', (article) => article.views24h),
          ],
          empty: 'No week has been completed yet.',
        }),
      ),
      links([
        ['/week', 'What changed this week'],
        ['/feeds/desk.atom', 'Atom feed'],
        ['/feeds/desk.json', 'JSON feed'],
        ['/api/v1/desk/feed.json', 'Ranked list, JSON'],
        ['/desk/SKILL.md', 'Skill file for agents'],
      ]),
    ],
  }
})

function articleLink({ slug, title }: Pick<ArticleSource, 'slug' | 'title'>) {
  return link(articlePath(slug), untrustedText(title))
}

export const articlePages = pageSource(['articles', 'site'], ({ articles, site }) =>
  articles.map((article) => ({
    path: articlePath(article.slug),
    title: article.title,
    description: article.excerpt,
    crumb: [
      ['/desk', 'Desk'],
      [null, isWeekly(article) ? 'Weekly post, generated from the figures' : 'Essay'],
    ],
    nav: '/desk',
    feeds,
    markdown: false,
    inputs: article,
    body: () => [
      introduction(untrustedText(article.excerpt)),
      para(
        inline`${day(article.date)} · ${isWeekly(article) ? 'generated from the polls and flags of its week' : join(article.keywords.map(untrustedText), ', ')}`,
        'age',
      ),
      htmlOnly(html`<div class="prose">${renderMarkdown(article.body, site.url)}</div>`),
      links([
        [pathOf('getDeskArticle', { slug: article.slug }), 'This article as Markdown'],
        ['/desk', 'All articles'],
      ]),
    ],
  })),
)
