import { isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonValue } from '../../src/core/canonical-json.ts'
import { demoSentence, markMarkdownAsDemo, markPageAsDemo } from '../../src/core/demo-mark.ts'
import { memoizeEach } from '../cache/memoize.ts'
import type { DocumentBody, PublicDocument } from '../publish/document.ts'

/** Adds `demo: true` to JSON (`x-demo` in OpenAPI) and a first line to pages and texts. Other documents do not change. */
export const markAsDemo = memoizeEach((document: PublicDocument): PublicDocument => {
  const { path, body, archive } = document
  const isHashedElsewhere = /^\/(?:pacts\/.*\.json$|\.well-known\/(?:agent-)?skills\/)/.test(path)
  const isMarkable = !isHashedElsewhere && !path.startsWith('/assets/')
  return isMarkable
    ? {
        ...document,
        body:
          'make' in body
            ? { ...body, make: () => markBody(document, body.make()) }
            : markBody(document, body),
        archive:
          typeof archive === 'string' ? markText(document, archive) : markJson(path, archive),
      }
    : document
})

function markBody(document: PublicDocument, body: DocumentBody): DocumentBody {
  if ('bytes' in body) return body
  if ('text' in body) return { text: markText(document, body.text) }
  return { ...body, json: markJson(document.path, body.json) }
}

function markJson(path: string, json: JsonValue): JsonValue {
  if (!isJsonObject(json)) return json
  return { ...json, [path === '/openapi.json' ? 'x-demo' : 'demo']: true }
}

function markText({ path, contentType }: PublicDocument, text: string): string {
  const type = contentType.split(';', 1)[0] ?? ''
  if (type === 'text/html') return markPageAsDemo(text)
  if (type === 'text/markdown' || path === '/llms.txt') {
    return markMarkdownAsDemo(text)
  }
  if (type.endsWith('xml')) {
    return text.replace(/^(?:<\?xml[^>]*\?>\s*)?/, (head) => `${head}<!-- ${demoSentence} -->\n`)
  }
  return type === 'text/plain' ? `# ${demoSentence}\n${text}` : text
}
