import { expect, test } from 'vitest'

import { isPublicAddress } from '../../src/outbound/public-address.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

/** One address of every block of the IANA special-purpose registries (RFC 6890), the ends of some, and other texts. */
const special = words(`
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
const ordinary = words(`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
  172.15.255.255 172.32.0.0 192.0.1.0 198.20.0.0 223.255.255.255
  2606:4700:4700::1111 2001:4860:4860::8888 2001:200::1 2a00::1 2003::1 3ffe::1
  2606:4700:0:0:0:0:0:1 2606:4700::8.8.8.8
`)

test('isPublicAddress is false for every special block and for text that is no address', () => {
  expect(special.filter(isPublicAddress)).toEqual([])
})

test('isPublicAddress is true for addresses next to the special blocks', () => {
  expect(ordinary.filter((address) => !isPublicAddress(address))).toEqual([])
})
