import { expect, test } from 'vitest'

import { httpsInput } from '../../src/contract/schemas/input.ts'

const accepts = (text: string): boolean => httpsInput.safeParse(text).success

test.each([
  'https://ledger.example',
  'https://ledger.example/',
  'https://ledger.example:8443/a/b.c?d=e&f=%C3%A9#g',
  'https://ledger.example?a',
  'https://ledger.example#a',
  'https://[2001:db8::1]:8443/a',
  "https://ledger.example/~a/(b)/c;d=1,2/!$&'*+:@",
])('the address %s is accepted', (text) => {
  expect(accepts(text)).toBe(true)
})

// RFC 3986 has none of these characters in a path, and programs replace them differently.
test.each([
  String.raw`https://ledger.example/\..\x`,
  String.raw`https:\\ledger.example`,
  'https://ledger.example/"x"',
  'https://ledger.example/<x>',
  'https://ledger.example/{x}',
  'https://ledger.example/[x]',
  'https://ledger.example/a|b',
  'https://ledger.example/^`',
  'https://ledger.example/%zz',
  'https://ledger.example/%',
  'https://ledger.example/#a#b',
  'https://ledger.example/a b',
  'https://ledger.example/é',
  'https://user@ledger.example/',
  'https://user:pass@ledger.example/',
  'https://',
  'https:///a',
  'http://ledger.example/',
])('the address %s is refused', (text) => {
  expect(accepts(text)).toBe(false)
})

test('a long address is checked in linear time', () => {
  expect(accepts(`https://ledger.example/${'a'.repeat(2020)}`)).toBe(true)
  expect(accepts(`https://ledger.example/${'%aa'.repeat(600)}\\`)).toBe(false)
})
