/**
 * Signs requests to rails, so that firewalls recognise them (Web Bot Auth: draft-meunier-web-bot-auth-architecture-02,
 * the version that verifiers implement, over RFC 9421).
 */
import { createHash } from 'node:crypto'

import type { Clock, Random } from '../core/deps.ts'
import { signBytes, signingKeyFromSeed } from './signing-key.ts'

export interface BotIdentityDeps {
  readonly siteUrl: string
  readonly keyedHash: (purpose: string, text: string) => string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
}

export type SignatureHeaders = Readonly<Record<string, string>>

const label = 'sig1'
const requestLifeSeconds = 60
const directoryLifeSeconds = 3600

/** The key is derived and never stored. */
export function createBotIdentity({ siteUrl, keyedHash, clock, random }: BotIdentityDeps) {
  const key = signingKeyFromSeed(Buffer.from(keyedHash('web bot auth', ''), 'hex'))
  const jwk = { crv: 'Ed25519', kty: 'OKP', x: Buffer.from(key.publicKey).toString('base64url') }
  // RFC 7638: these members in this order.
  const keyId = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')
  const signed = (
    components: Readonly<Record<string, string>>,
    tag: string,
    lifeSeconds: number,
  ): SignatureHeaders => {
    const created = Math.floor(clock.now() / 1000)
    const nonce = Buffer.from(random.bytes(64)).toString('base64')
    const parameters = `(${Object.keys(components).join(' ')});created=${created};expires=${created + lifeSeconds};keyid="${keyId}";alg="ed25519";nonce="${nonce}";tag="${tag}"`
    const lines = Object.entries({ ...components, '"@signature-params"': parameters })
    const base = lines.map(([name, value]) => `${name}: ${value}`).join('\n')
    const signature = Buffer.from(signBytes(key, Buffer.from(base))).toString('base64')
    return { 'Signature-Input': `${label}=${parameters}`, Signature: `${label}=:${signature}:` }
  }
  const { protocol, host } = new URL(siteUrl)
  const agent = `"${siteUrl}"`
  return {
    /** Null without https, because verifiers refuse such an address of the keys. */
    sign:
      protocol === 'https:'
        ? (target: URL): SignatureHeaders => ({
            'Signature-Agent': agent,
            ...signed(
              { '"@authority"': target.host, '"signature-agent"': agent },
              'web-bot-auth',
              requestLifeSeconds,
            ),
          })
        : null,
    /** The list of keys, signed so that nobody else can publish it as theirs. */
    directory: () => ({
      text: JSON.stringify({ keys: [{ ...jwk, kid: keyId, use: 'sig' }] }),
      headers: signed(
        { '"@authority";req': host },
        'http-message-signatures-directory',
        directoryLifeSeconds,
      ),
    }),
  }
}
