/** The form of `/verify`, which `assets/log.js` of `builder/site/static` answers without sending the input. */
import { htmlOnly } from '../../../src/pages/blocks.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'

export function logForm(): HtmlAndMarkdown {
  return htmlOnly(
    html`<form class="log-check" data-verify="log">
      <p>
        <label>File <input type="file" name="file" /></label>
      </p>
      <label
        >Receipt, document or proof<textarea name="text" rows="8" spellcheck="false"></textarea>
      </label>
      <p>
        <button>Verify</button> Drop a file here or paste its text. Your browser checks it and sends
        nothing but the id of a receipt.
      </p>
      <noscript><p>The form needs JavaScript; the commands do not.</p></noscript>
      <output></output>
    </form>`,
  )
}
