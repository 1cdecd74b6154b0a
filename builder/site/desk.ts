/** `/desk` and its articles. The Markdown form of an article is published by the API documents. */
import { pathOf } from '../../src/contract/routes.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links } from '../../src/pages/blocks.ts'
import { day, mark } from '../../src/pages/figures.ts'
import {
  concat,
  untrustedText,
  join,
  link,
  inline,
  small,
} from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { articlePath } from '../../src/pages/paths.ts'
import { cell, column, countColumn, table } from '../../src/pages/table.ts'
import { rankArticles } from '../desk/ranking.ts'
import { pageSource } from './page-source.ts'
import { renderMarkdown } from './prose.ts'

const feeds = [
  { type: 'application/atom+xml', href: '/feeds/desk.atom', title: 'The desk' },
  { type: 'application/feed+json', href: '/feeds/desk.json', title: 'The desk' },
] as const

export const deskPage = pageSource(['articles', 'views24h'], (world) => {
  const ranked = rankArticles(world)
  return {
    path: '/desk',
    title: 'The desk',
    description: `${counted(ranked.length, 'article')} on what rails pay and how to read their figures, updated weekly.`,
    nav: '/desk',
    feeds,
    body: [
      introduction('Most-read articles first, then newest.'),
      table(ranked, {
        id: 'articles',
        caption: 'Views are counted hourly and without cookies.',
        columns: [
          column('Article', ({ slug, title, excerpt, hot }) =>
            cell(
              concat([
                link(articlePath(slug), untrustedText(title)),
                mark(hot ? 'popular' : null),
                { html: html`<br />`, md: ': ' },
                small(untrustedText(excerpt)),
              ]),
              title.toLowerCase(),
            ),
          ),
          column('Date', ({ date }) => day(date)),
          countColumn('Views', '24 hours', (article) => article.views24h),
        ],
        empty: 'No articles yet.',
      }),
      links([
        ['/feeds/desk.atom', 'Atom feed'],
        ['/feeds/desk.json', 'JSON feed'],
        ['/api/v1/desk/feed.json', 'Ranked list, JSON'],
        ['/desk/SKILL.md', 'Skill file for agents'],
      ]),
    ],
  }
})

export const articlePages = pageSource(['articles', 'site'], ({ articles, site }) =>
  articles.map((article) => ({
    path: articlePath(article.slug),
    title: article.title,
    description: article.excerpt,
    nav: '/desk',
    feeds,
    markdown: false,
    inputs: article,
    body: () => [
      introduction(inline`${article.date} · ${join(article.keywords.map(untrustedText), ', ')}`),
      htmlOnly(html`<div class="prose">${renderMarkdown(article.body, site.url)}</div>`),
      links([
        [pathOf('getDeskArticle', { slug: article.slug }), 'This article as Markdown'],
        ['/desk', 'All articles'],
      ]),
    ],
  })),
)
