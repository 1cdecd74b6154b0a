/** `/docs/try`: the API in the browser, with Swagger UI served from this site. */
import { htmlOnly, links, para } from '../blocks.ts'
import { link, inline } from '../html-and-markdown.ts'
import { html } from '../html.ts'
import type { SitePage } from '../page.ts'

export function tryPage(): SitePage {
  return {
    path: '/docs/try',
    title: 'Try the API',
    description:
      'Send requests to this ledger from the browser. Nothing is loaded from another host.',
    nav: '/docs',
    styles: ['/assets/vendor/swagger-ui.css'],
    scripts: ['/assets/vendor/swagger-ui-bundle.js', '/assets/playground.js'],
    body: [
      para(
        inline`Requests go to this site and count towards the ${link('/docs/limits', 'limits')}.`,
        'lede',
      ),
      htmlOnly(
        html`<noscript
            ><p>
              This page needs JavaScript; the <a href="/docs/reference">reference</a> does not.
            </p></noscript
          >
          <div id="playground"></div>`,
        'The playground is interactive. The same endpoints stand in the reference.',
      ),
      links([
        ['/docs/reference', 'API reference'],
        ['/openapi.json', 'OpenAPI 3.0.3'],
      ]),
    ],
  }
}
