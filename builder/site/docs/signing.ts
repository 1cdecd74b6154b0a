/** `/docs/signing`: what a wallet signs, and how. */
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import type { World } from '../../world/world.ts'
import { codeBlock, links, list, para, section, steps } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'
import { contractText } from './text.ts'
import { writeScript } from './write-script.ts'

export function signingPage({ site, taxonomy }: World): SitePage {
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
          inline`Write the body with every field but the signature; set the signature fields (${code('signature')}, ${code('worker_signature')}, ${code('platform_signature')}, ${code('oath_signature')}) to the empty string.`,
          inline`${code('BODY_SHA256')} is the lower-case hex SHA-256 of its RFC 8785 canonical JSON.`,
          inline`${code('TIMESTAMP')} is the ${code('timestamp')} of the body, RFC 3339, within five minutes of the server’s time. ${code('WALLET')} is the wallet as it stands in the body.`,
          inline`Sign the text and put the signature into ${code('signature')}.`,
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
                inline`${code('0x')} and 65 bytes of lower-case hex, v 27 or 28, low s`,
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
          inline`The wallet of the example is a NEAR implicit account: the hex of an ed25519 key. A Solana address is the base58 of one. For both, the key of the wallet may sign receipts.`,
          inline`An EVM wallet signs the same text by EIP-191 (${code('personal_sign')}). Its receipts are signed by an ed25519 key that it registers as ${code('receipt_key')}.`,
          inline`A receipt that only its worker has signed is kept and earns nothing until its payment is verified on a chain (${code('chain')} and ${code('tx_hash')}); ${link('/docs/reputation', 'what receipts earn')}.`,
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
                  inline`${link(`/docs/reference#${route.id}`, code(`${route.method} ${route.path}`))}: ${contractText(route.description)}`,
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
          inline`Send ${code('Authorization: Bearer <wallet>:<signature>')}, or ${code('X-Partner-Wallet')} and ${code('X-Partner-Signature')}, and the timestamp in ${code('X-Partner-Timestamp')}: Unix seconds or milliseconds.`,
          inline`${code('PATH')} is the path as requested, from ${code('/api/v1')} on, without the query. ${code('RAW_SHA256')} is the hash of the raw bytes of the body; use v2 for writes.`,
        ]),
      ),
      section(
        'once',
        'Once',
        list([
          'A signed text is good for one write. The same request again gets the first answer; the same text with another body is refused.',
          inline`${code('Idempotency-Key')} is honoured on every POST for 24 hours.`,
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
