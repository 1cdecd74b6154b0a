import { describe, expect, test } from 'vitest'

import { checkOutboundUrl } from '../../src/core/outbound-url.ts'

const accepted = [
  'https://hooks.example.com',
  'https://hooks.example.com/',
  'https://hooks.example.com:443/a?b=c&d=%20',
  'https://hooks.example.com?token=1',
  'https://HOOKS.Example.COM/x',
  'https://xn--bcher-kva.example.com/',
  'https://a-b.c0.example.co.uk/p/../q',
  'https://hooks.example.com/path@with:signs',
  // Public names: their addresses are checked when they are resolved.
  'https://localtest.me/',
  'https://127.0.0.1.nip.io/',
] as const

/** URLs that are refused, by the trick that they use. */
const refused: Readonly<Record<string, readonly string[]>> = {
  'loopback in every spelling': [
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://0/',
    'https://0.0.0.0/',
    'https://127.0.0.0x1/',
    'https://%31%32%37.0.0.1/',
  ],
  'names of this machine': [
    'https://localhost/',
    'https://localhost./',
    'https://a.LocalHost/',
    'https://localhost.localdomain/',
    'https://printer.local/',
    'https://router.lan/',
    'https://db.internal/',
    'https://metadata.google.internal/computeMetadata/v1/',
    'https://host.home.arpa/',
    'https://intranet/',
  ],
  'IPv6 literals': [
    'https://[::1]/',
    'https://[fe80::1]/',
    'https://[fe80::1%25eth0]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2606:4700::1111]/',
  ],
  'IP addresses, public ones too': [
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://255.255.255.255/',
    'https://8.8.8.8/',
    'https://1.2.3.4.5/',
    'https://example.0x7f/',
    'https://example.1/',
  ],
  'Unicode that normalizes to something else': [
    'https://１２７.０.０.１/',
    'https://ⓔⓧⓐⓜⓟⓛⓔ.com/',
    'https://127。0。0。1/',
    'https://exa\u00ADmple.com/',
    'https://bücher.example.com/',
    'https://example\u200B.com/',
    'https://example.com/ü',
  ],
  'user-info, fragments, backslashes, stray slashes and white space': [
    'https://user:pass@example.com/',
    'https://@example.com/',
    'https://example.com@127.0.0.1/',
    'https://example.com#@127.0.0.1/',
    'https://example.com/#x',
    String.raw`https://example.com\@127.0.0.1/`,
    String.raw`https:\\example.com\ `,
    'https:/example.com/',
    'https:example.com',
    'https:///example.com/',
    'https://%65xample.com/',
    'https://example%2ecom/',
    'https://exam\tple.com/',
    'https://example.com/a\nb',
    ' https://example.com/',
    'https://example.com/ ',
    'https://example.com/a b',
  ],
  'other ports': [
    'https://example.com:80/',
    'https://example.com:8443/',
    'https://example.com:0443/',
    'https://example.com:/',
    'https://example.com:443:443/',
  ],
  'other schemes and relative references': [
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,hi',
    'blob:https://example.com/1',
    '//example.com/',
    '/path',
    'example.com',
    '',
  ],
  'broken hosts': [
    'https://',
    'https:///',
    'https://./',
    'https://../',
    'https://.example.com/',
    'https://example..com/',
    'https://example.com./',
    'https://-example.com/',
    'https://example-.com/',
    'https://exa_mple.com/',
    'https://exa*mple.com/',
    'https://exam ple.com/',
    'https://xn--/',
    `https://${'a'.repeat(64)}.com/`,
    `https://${'a.'.repeat(130)}com/`,
    `https://example.com/${'a'.repeat(2048)}`,
  ],
}

describe('checkOutboundUrl', () => {
  test.each(accepted)('checkOutboundUrl accepts %s', (text) => {
    expect(checkOutboundUrl(text)).toEqual({ ok: true, url: new URL(text) })
  })

  for (const [kind, texts] of Object.entries(refused)) {
    test(`checkOutboundUrl refuses ${kind}, each with a reason`, () => {
      const verdicts = texts.map((text) => [text, checkOutboundUrl(text)] as const)
      expect(verdicts.filter(([, { ok }]) => ok)).toEqual([])
      for (const [, verdict] of verdicts) expect(verdict).toHaveProperty('problem')
    })
  }
})
