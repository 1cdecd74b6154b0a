/** The form of `/docs/try`, which `assets/try.js` of `builder/site/static` sends. Without it, the page lists commands. */
import type { Route } from '../../../src/contract/route.ts'
import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { inline, link, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'
import type { Html } from '../../../src/pages/html.ts'
import { entries, list, member, text } from '../../archive/facts.ts'
import { openApiOf } from '../../documents/site.ts'
import type { World } from '../../world/world.ts'
import { plain } from './models.ts'
import { endpointName, referenceGroups, referenceLink } from './reference.ts'
import { curlLine } from './samples.ts'

export function tryForm(world: Pick<World, 'site'>): HtmlAndMarkdown {
  const spec: JsonValue = openApiOf(world)
  const sections = referenceGroups
    .flatMap(({ routes }) => routes)
    .map((route) => {
      const methods = member(member(spec, 'paths'), route.path)
      const operation = member(methods, route.method.toLowerCase())
      const name = endpointName(route)
      const about = inline`${referenceLink(route, route.summary)}. ${noteOf(route)}`
      const curl = curlLine(route, world.site.url)
      return {
        html: html`<section
          id="${route.id}"
          data-path="${route.path}"
          data-method="${route.method}"
        >
          <h2>${name.html}</h2>
          <p>${about.html}</p>
          <fieldset hidden disabled>
            <legend class="vh">Parameters</legend>
            ${list(member(operation, 'parameters')).map(field)}
          </fieldset>
          <pre tabindex="0"><code>${curl}</code></pre>
        </section>`,
        md: `- ${name.md}: ${about.md}${route.method === 'GET' ? ` \`${curl.replace(/ \\\n */g, ' ')}\`` : ''}`,
      }
    })
  const groups = referenceGroups.map(
    ({ title, routes }) =>
      html`<optgroup label="${title}">
        ${routes.map(({ id, method, path }) => html`<option value="${id}">${method} ${path}</option> `)}
      </optgroup>`,
  )
  return {
    html: html`<form class="try" autocomplete="off">
      <noscript><p>Sending needs JavaScript; these commands do not.</p></noscript>
      <label hidden
        >Endpoint
        <select name="endpoint">
          ${groups}
        </select></label
      >
      ${sections.map((section) => section.html)}
      <p class="actions" hidden><button class="btn">Send</button></p>
      <div class="answer" hidden>
        <h2>Answer</h2>
        <p role="status"></p>
        <details>
          <summary>Headers</summary>
          <pre tabindex="0"></pre>
        </details>
        <pre class="out" tabindex="0"></pre>
      </div>
    </form>`,
    md: sections.map(({ md }) => md).join('\n'),
  }
}

function noteOf({ method, access, price }: Route): HtmlAndMarkdown | null {
  if (price !== undefined) {
    return inline`Without partner credentials or ${link('/docs/paying', 'a payment')}, the answer is the price.`
  }
  if (access === 'signed') {
    return inline`A wallet must sign the body: ${link('/docs/signing', 'how to sign')}.`
  }
  if (access === 'partner') {
    return inline`A partner must sign the request: ${link('/docs/signing#partner', 'how to sign')}.`
  }
  return method === 'GET' ? null : inline`It writes, so this page does not send it.`
}

/** Parameters of the path have their example as value; those of the query are sent only if filled in. */
function field(parameter: JsonValue): Html | null {
  const place = text(member(parameter, 'in'))
  if (place !== 'path' && place !== 'query') return null
  const name = text(member(parameter, 'name')) ?? ''
  const schema = member(parameter, 'schema')
  const example = plain(member(parameter, 'example') ?? '')
  const values = list(member(schema, 'enum'))
  const about = textWithCode(text(member(parameter, 'description')) ?? '').html
  const attributes = html`name="${name}" data-in="${place}"`
  const bounds = entries(schema).flatMap(([key, value]) =>
    key === 'minimum' || key === 'maximum' ? html` ${key.slice(0, 3)}="${plain(value)}"` : [],
  )
  const input =
    values.length > 0
      ? html`<select ${attributes}>
          <option value="">any</option>
          ${values.map((value) => html`<option>${plain(value)}</option> `)}
        </select>`
      : place === 'path'
        ? html`<input ${attributes} value="${example}" required />`
        : html`<input
            ${attributes}
            placeholder="${example}"
            ${member(schema, 'type') === 'integer' && html`type="number"${bounds}`}
          />`
  return html`<label><code>${name}</code> ${input} <small>${about}</small></label>`
}
