import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
/** The guides: the front page of the documentation, signing, verifying, limits, contact. */
import { limitPolicies, writeBounds } from '../../../src/core/limits.ts'
import type { World } from '../../world.ts'
import { codeBlock, facts, links, list, para, section, steps } from '../blocks.ts'
import type { Page } from '../page.ts'
import { table } from '../table.ts'
import { code, join, link, say } from '../twin.ts'
import { contractText } from './text.ts'
import { writeScript } from './write-script.ts'

export function docsPage({ site, agentSkills }: World): Page {
  return {
    path: '/docs',
    title: 'Documentation',
    description: 'How to read the ledger, check it, write to it and build on it.',
    nav: '/docs',
    body: [
      para('Everything that is published can be read without a key or an account.', 'lede'),
      codeBlock(
        `curl -sS ${site.url}/api/v1/rails\ncurl -sS ${site.url}/api/v1/opportunities\ncurl -sS ${site.url}/llms.txt`,
        'sh',
      ),
      facts([
        [
          'API reference',
          say`${link('/docs/reference', 'Every endpoint')}, ${link('/docs/models', 'every field')}, ${link('/openapi.json', 'OpenAPI 3.0.3')}, ${link('/openapi.d.ts', 'TypeScript types')}`,
        ],
        ['Try it', link('/docs/try', 'Send requests from the browser')],
        ['Verify', link('/docs/verifying', 'Check a signature, with and without a browser')],
        ['Receipts', link('/docs/receipts', 'How a receipt is checked on its chain')],
        ['Reputation', link('/docs/reputation', 'What a receipt earns')],
        ['Sign', link('/docs/signing', 'How wallets sign what they send')],
        ['Pay', link('/docs/paying', 'Reads and subscriptions in USDC, by x402')],
        ['Errors', link('/docs/errors', 'Every code and what to do')],
        ['Limits', link('/docs/limits', 'How often you may ask')],
        [
          'Agents',
          say`${link('/llms.txt', 'llms.txt')}, ${link('/llms-full.txt', 'all of it in one file')}, ${link('/docs/mcp', 'tools over MCP')}, ${join(
            [...agentSkills.keys()].map((name) => link(`/${name}/SKILL.md`, `skill: ${name}`)),
            ', ',
          )}, ${link('/.well-known/agent-skills/index.json', 'index of skills')}`,
        ],
        ['Feeds', link('/feeds', 'Articles, changes of status, flags')],
        ['Prices', link('/partners', 'Tiers of partners')],
        ['Cost', link('/docs/cost', 'What a ledger of one’s own costs to run')],
        ['Changes', link('/changelog', 'What changed, and what will')],
        ['Report', link('/docs/contact', 'A wrong figure, a fault, a weakness')],
      ]),
    ],
  }
}

export function verifyingPage({ site, signingKeys }: World): Page {
  return {
    path: '/docs/verifying',
    title: 'Verify a document',
    description:
      'Every document is signed with ed25519 over exactly the bytes that are served. Check one with a button, with OpenSSL or with ten lines of code.',
    nav: '/docs',
    body: [
      para(
        say`A good signature says that this ledger published these bytes. Whether they are true is another question; ${link('/honesty', 'flags')} and the evidence of each rail help with that one.`,
        'lede',
      ),
      section(
        'what',
        'What is signed',
        list([
          say`${code('X-Signature')}: ${code('ed25519:')} and the base64 signature over the bytes of the body, after any Content-Encoding is undone.`,
          say`${code('X-Signature-Key')}: the ${code('kid')} of the key, listed at ${link('/.well-known/signing-keys.json', '/.well-known/signing-keys.json')}, retired keys included.`,
          say`JSON bodies are RFC 8785 canonical JSON: parsed and written again they give the same bytes.`,
          say`${link('/snapshot.json', '/snapshot.json')} lists every document with its SHA-256, so an old one beside a new one shows.`,
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
            say`${key.status}, since ${key.created_at.slice(0, 10)}, ${code(key.public_key)}`,
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

export function signingPage({ site, taxonomy }: World): Page {
  const name = site.serviceName
  const signed = routes.filter((route: Route) => route.access === 'signed')
  return {
    path: '/docs/signing',
    title: 'Sign a request',
    description:
      'Register, send in receipts, claim: which text a wallet signs and how, with a script that does it all.',
    nav: '/docs',
    body: [
      para(
        'There are no passwords and no API keys. A wallet signs a short text that names the service, the wallet, the time and the hash of what is sent.',
        'lede',
      ),
      section(
        'message',
        'The text',
        codeBlock(`${name}-register-v1:{WALLET}:{TIMESTAMP}:{BODY_SHA256}`, 'text'),
        steps([
          say`Write the body with every field but the signature; set the signature fields (${code('signature')}, ${code('worker_signature')}, ${code('platform_signature')}, ${code('oath_signature')}) to the empty string.`,
          say`${code('BODY_SHA256')} is the lower-case hex SHA-256 of its RFC 8785 canonical JSON.`,
          say`${code('TIMESTAMP')} is the ${code('timestamp')} of the body, RFC 3339, within five minutes of the server’s time. ${code('WALLET')} is the wallet as it stands in the body.`,
          say`Sign the text and put the signature into ${code('signature')}.`,
        ]),
      ),
      section(
        'schemes',
        'The signature',
        table({
          id: 'schemes',
          caption: 'The kind of wallet decides; the request cannot choose.',
          columns: [
            { label: 'Wallet', sortable: false },
            { label: 'Scheme', sortable: false },
            { label: 'Form', sortable: false },
          ],
          rows: [
            {
              cells: [
                'EVM address',
                'EIP-191 personal sign; contract wallets by EIP-1271 and EIP-6492',
                say`${code('0x')} and 65 bytes of lower-case hex, v 27 or 28, low s`,
              ],
            },
            {
              cells: [
                'Solana address',
                'ed25519 over the UTF-8 text',
                '64 bytes in base58, base64 or hex',
              ],
            },
            {
              cells: [
                'NEAR implicit account',
                'ed25519 over the UTF-8 text',
                '64 bytes in base58, base64 or hex',
              ],
            },
          ],
          empty: '',
        }),
      ),
      section(
        'example',
        'A whole example',
        para(
          'With Node 20 or newer and no package: makes a wallet, registers it, and sends in a receipt that the wallet signs. Save it as write.mjs and run it.',
        ),
        codeBlock(writeScript(site, taxonomy.skills[0]?.slug ?? ''), 'js'),
        list([
          say`The wallet of the example is a NEAR implicit account: the hex of an ed25519 key. A Solana address is the base58 of one. For both, the key of the wallet may sign receipts.`,
          say`An EVM wallet signs the same text by EIP-191 (${code('personal_sign')}). Its receipts are signed by an ed25519 key that it registers as ${code('receipt_key')}.`,
          say`A receipt that only its worker has signed is kept and earns nothing until its payment is verified on a chain (${code('chain')} and ${code('tx_hash')}); ${link('/docs/reputation', 'what receipts earn')}.`,
        ]),
      ),
      section(
        'endpoints',
        'Where it is asked for',
        signed.length === 0
          ? para('No endpoint of this version takes signed writes yet.')
          : list(
              signed.map(
                (route) =>
                  say`${link(`/docs/reference#${route.id}`, code(`${route.method} ${route.path}`))}: ${contractText(route.description)}`,
              ),
            ),
      ),
      section(
        'partner',
        'Partner requests',
        codeBlock(
          `${name}-partner-auth-v1:{TIMESTAMP}:{METHOD}:{PATH}\n${name}-partner-auth-v2:{TIMESTAMP}:{METHOD}:{PATH}:{RAW_SHA256}`,
          'text',
        ),
        list([
          say`Send ${code('Authorization: Bearer <wallet>:<signature>')}, or ${code('X-Partner-Wallet')} and ${code('X-Partner-Signature')}, and the timestamp in ${code('X-Partner-Timestamp')}: Unix seconds or milliseconds.`,
          say`${code('PATH')} is the path as requested, from ${code('/api/v1')} on, without the query. ${code('RAW_SHA256')} is the hash of the raw bytes of the body; use v2 for writes.`,
        ]),
      ),
      section(
        'once',
        'Once',
        list([
          'A signed text is good for one write. The same request again gets the first answer; the same text with another body is refused.',
          say`${code('Idempotency-Key')} is honoured on every POST for 24 hours.`,
          'An oath is signed over its text with the wallet and the timestamp of the body filled in.',
        ]),
      ),
      links([
        ['/docs/errors', 'Errors'],
        ['/api/v1/oaths', 'Oaths'],
        ['/docs/reference', 'API reference'],
      ]),
    ],
  }
}

export function limitsPage(): Page {
  const { ip, range, day, wallet, signers, unproven, overrun } = limitPolicies
  const bounds = writeBounds
  return {
    path: '/docs/limits',
    title: 'Limits',
    description: `${ip.quota} requests a minute and ${day.quota} a day without credentials; what counts, and what does not.`,
    nav: '/docs',
    body: [
      para(
        'Limits protect the service, not the data: documents may be kept, cached and passed on, and their signatures stay good.',
        'lede',
      ),
      table({
        id: 'limits',
        caption: 'Requests under /api/v1. Pages, feeds and what they load are not counted.',
        columns: [
          { label: 'Who', sortable: false },
          { label: 'Limit', sortable: false },
          { label: 'At once', sortable: false },
        ],
        rows: [
          { cells: ['IPv4 address or IPv6 /64', `${ip.quota} a minute`, String(ip.burst)] },
          { cells: ['IPv6 /48', `${range.quota} a minute`, String(range.burst)] },
          { cells: ['IPv4 address or IPv6 /64', `${day.quota} a day (UTC)`, '—'] },
          {
            cells: [
              'wallet, on signed calls',
              `${wallet.quota} a minute, times the multiplier of the tier`,
              String(wallet.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for all wallets that are no partners',
              `${signers.quota} signed calls a minute`,
              String(signers.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for signatures that do not verify',
              `${unproven.quota} a minute`,
              String(unproven.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for calls of wallets over their own limit, and for signatures that do not verify',
              `${overrun.quota} a minute`,
              String(overrun.burst),
            ],
          },
        ],
        empty: '',
      }),
      list([
        say`Over a limit the answer is ${link('/docs/errors#rate_limited', '429')} with ${code('Retry-After')} in seconds. ${code('RateLimit')} and ${code('RateLimit-Policy')} stand on answers that no cache keeps.`,
        'A call that a wallet has signed is counted against the wallet alone: not against the address it comes from, and not against the free daily allowance.',
        say`A wallet at its limit is refused before its signature is checked. Others in its network notice nothing, up to ${String(overrun.quota)} such calls a minute; beyond that all signed calls from the network are refused.`,
        'What waits for somebody else has a limit of its own, so that nobody who is slow holds up the rest: 64 signatures of contract wallets, 32 letters and 32 forwarded applications at once. Beyond it the answer is 503, and nothing was done. A call that had proved no wallet by then counts all the same as one whose signature does not verify: forged signatures would be checked for nothing otherwise.',
        'The count of the day survives a restart of the service; a crash forgets the last five seconds of it at most.',
        say`Send ${code('If-None-Match')} with the ${code('ETag')} that you have: 304 means nothing changed.`,
        say`Documents are cached for the time that the ${link('/docs/reference', 'reference')} names. Rails are polled every few hours; asking more often brings nothing new.`,
        'Bodies may have 64 KiB, lists 200 entries a page.',
      ]),
      table({
        id: 'bounds',
        caption: 'How much one caller may leave in the ledger.',
        columns: [
          { label: 'Who', sortable: false },
          { label: 'What', sortable: false },
          { label: 'At most', sortable: false },
        ],
        rows: [
          { cells: ['partner', 'open jobs', String(bounds.openJobs)] },
          { cells: ['partner', 'open bids', String(bounds.openBids)] },
          {
            cells: [
              'partner, times the multiplier of the tier',
              'signed writes in 24 hours',
              String(bounds.partnerWritesPerDay),
            ],
          },
          {
            cells: [
              'worker',
              'receipts in 24 hours that only the worker has signed',
              String(bounds.unverifiedReceiptsPerDay),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /64',
              'the same, of all workers',
              String(bounds.unverifiedReceiptsPerNetworkPerDay),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /64',
              'first registrations, claims and signups in 24 hours',
              String(bounds.registrationsPerNetworkPerDay),
            ],
          },
          {
            cells: [
              'IPv6 /48',
              'both of these, of all its networks',
              `${bounds.networksOfRange} times as many`,
            ],
          },
        ],
        empty: '',
      }),
      list([
        say`No room for one more job or bid is ${link('/docs/errors#bound_reached', '409')}, whose ${code('details')} say what makes room; a share of the day that is used up is ${link('/docs/errors#rate_limited', '429')}.`,
      ]),
      links([
        ['/partners', 'Higher limits by tier'],
        ['/docs/errors', 'Errors'],
      ]),
    ],
  }
}

export function contactPage(): Page {
  const takesFeedback = routes.some((route: Route) => route.path === '/api/v1/feedback')
  return {
    path: '/docs/contact',
    title: 'Report a figure, a fault or a weakness',
    description: 'How to tell the operator of this ledger that something is wrong.',
    nav: '/docs',
    body: [
      para(
        'Reports are welcome, and most welcome with a way to see the fault for oneself: an address, a time, the bytes that were received.',
        'lede',
      ),
      takesFeedback
        ? para(
            say`Send them with ${link('/docs/reference', code('POST /api/v1/feedback'))}: a message of up to 4,000 characters, the page, and how to reach you. Five an hour.`,
          )
        : para('This version takes reports through the operator of the site that you read it on.'),
      list([
        'Weaknesses of security: please give the operator time to mend before you publish.',
        'Wrong figures: name the rail, the figure, and where it can be read otherwise.',
      ]),
    ],
  }
}
