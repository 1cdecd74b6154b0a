/** The log in the docs: the form of `/verify`, the diagram of the tree, and the kinds of entries. */
import { logEntryKind, loggedText } from '../../../src/core/tlog/entry.ts'
import { facts, htmlOnly } from '../../../src/pages/blocks.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { code, inline, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'

/** `assets/log.js` of `builder/site/static` answers it without sending the input. */
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

const kinds = ['poll', 'receipt', 'flag', 'snapshot']

export function logPicture(): HtmlAndMarkdown {
  const boxes = kinds.map(
    (kind, at) =>
      html`<rect x="${at * 110 + 10}" y="150" width="90" height="34" rx="4" />
        <text x="${at * 110 + 55}" y="172">${kind}</text>`,
  )
  return htmlOnly(
    html`<figure>
      <div class="scroll" role="group" tabindex="0" aria-label="Diagram of the log">
        <svg
          class="picture"
          viewBox="0 0 640 200"
          role="img"
          aria-label="Entries are the leaves of a tree. The ledger signs the root of the tree as a checkpoint, which witnesses cosign."
        >
          <path
            d="M55 150 110 115M165 150 110 115M275 150 330 115M385 150 330 115M110 100 220 65M330 100 220 65M265 52H440M520 75V115"
          />
          ${boxes}
          <rect x="65" y="98" width="90" height="20" rx="4" />
          <text x="110" y="112">hash</text>
          <rect x="285" y="98" width="90" height="20" rx="4" />
          <text x="330" y="112">hash</text>
          <rect x="175" y="38" width="90" height="30" rx="4" />
          <text x="220" y="58">root</text>
          <rect x="440" y="28" width="180" height="48" rx="4" />
          <text x="530" y="48">checkpoint</text>
          <text x="530" y="66">signed by the ledger</text>
          <rect x="440" y="115" width="180" height="48" rx="4" />
          <text x="530" y="135">witnesses</text>
          <text x="530" y="153">cosign consistent ones</text>
        </svg>
      </div>
      <figcaption>
        A change to any entry changes the root. Two signed checkpoints that contradict each other
        prove a fork.
      </figcaption>
    </figure>`,
  )
}

export function logKinds(): HtmlAndMarkdown {
  return facts(
    logEntryKind.options.map((kind) => [
      kind,
      inline`${code('sha256')} of ${textWithCode(loggedText[kind])}`,
    ]),
  )
}
