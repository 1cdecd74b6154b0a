/** The HTML around every page. It has no inline scripts or styles and loads nothing from another host. */
import { version } from '../contract/version.ts'
import { markPageAsDemo } from '../core/demo-mark.ts'
import { contentOf } from './blocks.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import menus from './menus.json' with { type: 'json' }
import { cardHeight, cardWidth } from './og-card.ts'
import { markdownPath } from './page.ts'
import type { SitePage } from './page.ts'

const siteName = 'Agent Income Ledger'

const navigation = Object.entries(menus.navigation)
const more = Object.entries(menus.more)
const footer = Object.entries(menus.footer)

/** Fills for the part of a bar that is left out, and for days of a chart without a reading. */
const patterns = html`<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false">
  <pattern
    id="hatch"
    width="5"
    height="5"
    patternUnits="userSpaceOnUse"
    patternTransform="rotate(45)"
  >
    <rect width="5" height="5" />
    <path d="M0 0V5" />
  </pattern>
  <pattern
    id="gap"
    width="6"
    height="6"
    patternUnits="userSpaceOnUse"
    patternTransform="rotate(45)"
  >
    <rect width="6" height="6" />
    <path d="M0 0V6" />
  </pattern>
</svg>`

/** The HTML of a page that is not published, and therefore not signed. */
export function unpublishedPage(
  page: SitePage,
  site: { readonly url: string; readonly isDemo: boolean },
  hasMarkdown = false,
): string {
  const options = { site: { url: site.url, version }, image: null, isPublished: false, hasMarkdown }
  const text = layout(page, contentOf(page).html, options)
  return site.isDemo ? markPageAsDemo(text) : text
}

interface LayoutOptions {
  readonly site: { readonly url: string; readonly version: string }
  readonly image: string | null
  /** False for pages rendered on request, which are not signed. */
  readonly isPublished: boolean
  /** At `markdownPath`. */
  readonly hasMarkdown: boolean
}

export function layout(page: SitePage, body: Html, options: LayoutOptions): string {
  const { site, image, isPublished, hasMarkdown } = options
  const { path, title, description, feeds = [] } = page
  const [href, name = 'JSON'] = page.json ?? []
  const json = href === undefined ? [] : [{ type: 'application/json', href, title: name }]
  const fullTitle = path === '/' ? `${siteName}: ${title}` : `${title} · ${siteName}`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${fullTitle}</title>
        <meta name="description" content="${description}" />
        <meta name="color-scheme" content="light dark" />
        ${page.robots && html`<meta name="robots" content="${page.robots}" />`}
        <meta property="og:title" content="${title}" />
        <meta property="og:description" content="${description}" />
        <meta property="og:type" content="website" />
        <meta property="og:url" content="${site.url}${path}" />
        <meta property="og:site_name" content="${siteName}" />
        ${
          image &&
          html`<meta property="og:image" content="${site.url}${image}" />
            <meta property="og:image:width" content="${cardWidth}" />
            <meta property="og:image:height" content="${cardHeight}" />
            <meta property="og:image:alt" content="${title}" />
            <meta name="twitter:card" content="summary_large_image" /> `
        }
        <link rel="canonical" href="${site.url}${path}" />
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/site.css" />
        ${(page.styles ?? []).map((href) => html`<link rel="stylesheet" href="${href}" /> `)}
        ${
          hasMarkdown &&
          html`<link
            rel="alternate"
            type="text/markdown"
            href="${markdownPath(path)}"
            title="This page as Markdown"
          /> `
        }
        ${[...json, ...feeds].map((to) => html`<link rel="alternate" type="${to.type}" href="${to.href}" title="${to.title}" /> `)}
        <link rel="service-desc" type="application/json" href="/openapi.json" />
        <link rel="api-catalog" href="/.well-known/api-catalog" />
        <script src="/assets/theme.js"></script>
        <script type="module" src="/assets/site.js"></script>
        ${(page.scripts ?? []).map((src) => html`<script defer src="${src}"></script> `)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        ${patterns}
        <header>
          <a class="brand" href="/">${siteName}</a>
          <nav aria-label="Main">
            <ul>
              ${navigation.map((entry) => navEntry(entry, page))}
              <li class="more">
                <details>
                  <summary>More</summary>
                  <ul>
                    ${more.map((entry) => navEntry(entry, page))}
                  </ul>
                </details>
              </li>
            </ul>
          </nav>
          <div class="tools">
            <a class="tool" href="/search">Search <kbd aria-hidden="true">/</kbd></a>
            <button class="tool" type="button" data-theme-switch disabled>
              <span class="vh">Switch between light and dark</span><span aria-hidden="true">◐</span>
            </button>
          </div>
        </header>
        <main id="main" tabindex="-1">
          ${page.crumb && html`<p class="crumb">${page.crumb.map(crumbEntry)}</p>`}
          <h1>${title}</h1>
          ${body}
        </main>
        <footer>
          <nav aria-label="Footer">
            <ul>
              ${footer.map(([href, label]) => html`<li><a href="${href}">${label}</a></li> `)}
            </ul>
          </nav>
          <p>
            ${isPublished ? signedNote(path) : onDemandNote} Version ${site.version}. Solid ink:
            read by this ledger. <span class="unknown">Dashed pencil</span>: counted by others, too
            old or unknown.
          </p>
        </footer>
      </body>
    </html> `.toString()
}

function signedNote(path: string): Html {
  return html`Every document of this site, including this page, is signed with
    <a href="/.well-known/signing-keys.json">the ledger's key</a>;
    <a href="/docs/verifying">verify it</a>.
    <a href="${markdownPath(path)}">This page as Markdown</a>.`
}

const onDemandNote = html`This page was rendered on request and is not signed;
  <a href="/docs/verifying">published documents</a> are.`

function navEntry([href, label]: readonly [string, string], page: SitePage): Html {
  if (page.path === href) return html`<li><a href="${href}" aria-current="page">${label}</a></li>`
  const current = page.nav === href ? html` aria-current="true"` : null
  return html`<li><a href="${href}" ${current}>${label}</a></li>`
}

function crumbEntry([href, label]: readonly [string | null, string], at: number): Html {
  const separator = at === 0 ? '' : ' / '
  return href === null
    ? html`${separator}<span>${label}</span>`
    : html`${separator}<a href="${href}">${label}</a>`
}
