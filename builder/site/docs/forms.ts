/** Forms that the browser answers without sending the input: `assets/try.js` and `assets/log.js` of `builder/site/static`. */
import { htmlOnly } from '../../../src/pages/blocks.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'

export const ruleLines = `{"rail":"a","end":"2026-09-30T00:00:00Z","basis":"payments"}
{"payment":{"at":"2026-09-02T10:00:00Z","tx":"0x01","payer":"p","payee":"w","amount_usdc":1.5,"removed_by":null}}
{"transfer":{"at":"2026-08-30T10:00:00Z","from":"s","to":"p","amount_usdc":100}}
{"wallet":{"address":"s","listed_hub":false,"age_days":120,"recipients":300,"contract":false}}
{"offers":{"count":40,"creators":3}}`

export const receiptLines = `{"receipt":{"at":"2026-11-02T09:00:00Z","tx":"0x01","payer":"a","worker":"b","amount_usdc":100,"evidence":"onchain"}}
{"transfer":{"at":"2026-11-02T10:00:00Z","from":"b","to":"a","amount_usdc":60}}
{"wallet":{"address":"a","age_days":120,"recipients":3,"listed_hub":false}}`

export function tryForm(rules: string, verb: string, lines: string): HtmlAndMarkdown {
  return htmlOnly(
    html`<form class="try" data-rules="${rules}">
      <label>Lines<textarea name="lines" rows="8" spellcheck="false">${lines}</textarea></label>
      <p>
        <button>${verb}</button> Your browser runs the rules of the ledger and sends the lines to
        nobody.
      </p>
      <noscript><p>The form needs JavaScript; the command does not.</p></noscript>
      <output></output>
    </form>`,
    `\`\`\`text\n${lines}\n\`\`\``,
  )
}

/** The form of `/verify`. */
export function logForm(): HtmlAndMarkdown {
  return htmlOnly(
    html`<form class="try" data-verify="log">
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
