/** `/docs/verifying`: a document is checked in the browser, with OpenSSL or with Node. */
import type { World } from '../../world/world.ts'
import { codeBlock, facts, list, para, section } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'

export function verifyingPage({ site, signingKeys }: World): SitePage {
  return {
    path: '/docs/verifying',
    title: 'Verify a document',
    description:
      'Every document is signed with ed25519 over exactly the bytes that are served. Check one with a button, with OpenSSL or with ten lines of code.',
    nav: '/docs',
    body: [
      para(
        inline`A good signature says that this ledger published these bytes. Whether they are true is another question; ${link('/honesty', 'flags')} and the evidence of each rail help with that one.`,
        'lede',
      ),
      section(
        'what',
        'What is signed',
        list([
          inline`${code('X-Signature')}: ${code('ed25519:')} and the base64 signature over the bytes of the body, after any Content-Encoding is undone.`,
          inline`${code('X-Signature-Key')}: the ${code('kid')} of the key, listed at ${link('/.well-known/signing-keys.json', '/.well-known/signing-keys.json')}, retired keys included.`,
          inline`JSON bodies are RFC 8785 canonical JSON: parsed and written again they give the same bytes.`,
          inline`${link('/snapshot.json', '/snapshot.json')} lists every document with its SHA-256, so an old one beside a new one shows.`,
        ]),
      ),
      section(
        'browser',
        'In the browser',
        para(
          'The pages of rails, pacts and receipts have a button that fetches the document again, checks the signature with Web Crypto and shows hash, key and result. Code and keys come from this site: it tells you that the document arrived whole. To trust the site less, keep the key of your first visit and use one of the ways below.',
        ),
      ),
      section('openssl', 'With curl and OpenSSL 3', codeBlock(opensslScript(site.url), 'sh')),
      section('node', 'With Node 20 or newer', codeBlock(nodeScript(site.url), 'js')),
      section(
        'keys',
        'Keys',
        facts(
          signingKeys.keys.map((key) => [
            key.kid,
            inline`${key.status}, since ${key.created_at.slice(0, 10)}, ${code(key.public_key)}`,
          ]),
        ),
      ),
    ],
  }
}

function opensslScript(url: string): string {
  return `path=/api/v1/rails
curl -sS -D head -o body "${url}$path"
header() { tr -d '\\r' <head | awk -F': ' -v name="$1" 'tolower($1) == name { print $2 }'; }
key=$(curl -sS ${url}/.well-known/signing-keys.json | tr '{' '\\n' |
  grep "\\"kid\\":\\"$(header x-signature-key)\\"" | sed 's/.*"public_key":"\\([^"]*\\)".*/\\1/')
printf -- '-----BEGIN PUBLIC KEY-----\\nMCowBQYDK2VwAyEA%s\\n-----END PUBLIC KEY-----\\n' "$key" >key.pem
header x-signature | sed 's/^ed25519://' | openssl base64 -d -A >signature
openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in body -sigfile signature`
}

function nodeScript(url: string): string {
  return `import { createPublicKey, verify } from 'node:crypto'

const answer = await fetch('${url}/api/v1/rails')
const body = Buffer.from(await answer.arrayBuffer())
const signature = Buffer.from(answer.headers.get('x-signature').slice('ed25519:'.length), 'base64')
const { keys } = await (await fetch('${url}/.well-known/signing-keys.json')).json()
const { public_key } = keys.find(({ kid }) => kid === answer.headers.get('x-signature-key'))
const x = Buffer.from(public_key, 'base64').toString('base64url')
const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
console.log(verify(null, body, key, signature) ? 'good' : 'BAD')`
}
