import { describe, expect, test } from 'vitest'

import { isPublicAddress } from '../../src/core/ip-address.ts'
import { checkOutboundUrl } from '../../src/core/outbound-url.ts'

const taken = [
  'https://hooks.example.com',
  'https://hooks.example.com/',
  'https://hooks.example.com:443/a?b=c&d=%20',
  'https://hooks.example.com?token=1',
  'https://HOOKS.Example.COM/x',
  'https://xn--bcher-kva.example.com/',
  'https://a-b.c0.example.co.uk/p/../q',
  'https://hooks.example.com/path@with:signs',
  // Public names: where they lead is found out when they are resolved.
  'https://localtest.me/',
  'https://127.0.0.1.nip.io/',
] as const

/** Each with what it tries. */
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
    'https://LOCALHOST/',
    'https://localhost./',
    'https://a.localhost/',
    'https://a.LocalHost/',
    'https://localhost.localdomain/',
    'https://printer.local/',
    'https://router.lan/',
    'https://db.internal/',
    'https://metadata.google.internal/computeMetadata/v1/',
    'https://host.home.arpa/',
    'https://intranet/',
    'https://metadata/',
  ],
  'IPv6 literals': [
    'https://[::1]/',
    'https://[::]/',
    'https://[fe80::1]/',
    'https://[fe80::1%25eth0]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[fd00:ec2::254]/',
    'https://[2606:4700::1111]/',
  ],
  'addresses in numbers, public ones too': [
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://172.16.0.1/',
    'https://100.64.0.1/',
    'https://198.18.0.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://240.0.0.1/',
    'https://8.8.8.8/',
    'https://1.2.3.4.5/',
    'https://example.0x7f/',
    'https://example.1/',
  ],
  'Unicode that turns into something else': [
    'https://１２７.０.０.１/',
    'https://ⓔⓧⓐⓜⓟⓛⓔ.com/',
    'https://127。0。0。1/',
    'https://exa\u00ADmple.com/',
    'https://bücher.example.com/',
    'https://example\u200B.com/',
    'https://example.com/ü',
  ],
  'user-info, fragments, backslashes, stray slashes and white space': [
    'https://user@example.com/',
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
    'https://example.com:22/',
    'https://example.com:/',
    'https://example.com:443:443/',
  ],
  'other schemes and relative references': [
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
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

const words = (text: string): string[] => text.trim().split(/\s+/)

describe('threat 30: attestation, webhook and apply URLs aimed inside', () => {
  test.each(taken)('%s is taken', (text) => {
    expect(checkOutboundUrl(text)).toEqual({ ok: true, url: new URL(text) })
  })

  for (const [kind, texts] of Object.entries(refused)) {
    test(`${kind} are refused, each with a reason`, () => {
      const verdicts = texts.map((text) => [text, checkOutboundUrl(text)] as const)
      expect(verdicts.filter(([, { ok }]) => ok)).toEqual([])
      for (const [, verdict] of verdicts) expect(verdict).toHaveProperty('problem')
    })
  }

  /** Every block of the IANA special-purpose registries (RFC 6890), one address of each, and the ends of some. */
  const inside = words(`
    0.0.0.0 0.255.255.255 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 100.100.100.200
    127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8
    192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1
    192.168.0.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.2.3
    240.0.0.1 255.255.255.255
    :: ::1 ::ffff:8.8.8.8 ::ffff:808:808 ::8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 100:0:0:1::1
    2001::1 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1
    2001:30::1 2001:db8::1 2002:808:808::1 2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254
    fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1 1fff::1
    localhost [2606:4700::1111] 2606:4700:::1 1:2:3:4:5:6:7 ::1:: 2606::1.2.3 256.1.1.1 1.2.3 1.2.3.4.5
  `)
  const outside = words(`
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
    172.15.255.255 172.32.0.0 192.0.1.0 198.20.0.0 223.255.255.255
    2606:4700:4700::1111 2001:4860:4860::8888 2001:200::1 2a00::1 2003::1 3ffe::1
    2606:4700:0:0:0:0:0:1 2606:4700::8.8.8.8
  `)
  test('no address of a special block counts as public', () => {
    expect(inside.filter(isPublicAddress)).toEqual([])
  })
  test('addresses beside the special blocks count as public', () => {
    expect(outside.filter((address) => !isPublicAddress(address))).toEqual([])
  })
})
