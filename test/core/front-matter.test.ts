import { describe, expect, test } from 'vitest'

import { parseFrontMatter } from '../../src/core/front-matter.ts'

const withFields = (...lines: string[]): string => ['---', ...lines, '---', 'Body.'].join('\n')

describe('parseFrontMatter', () => {
  test('front matter has strings and lists, and the body stays unchanged', () => {
    const text =
      '---\ntitle: One rail\ndate: 2026-10-26\nkeywords: [x402, wash volume]\n---\n\n# Head\n\n---\n\nText\n'
    expect(parseFrontMatter(text)).toEqual({
      fields: { title: 'One rail', date: '2026-10-26', keywords: ['x402', 'wash volume'] },
      body: '# Head\n\n---\n\nText\n',
    })
  })

  test.each([
    ['a: "one: two # three"', 'one: two # three'],
    [String.raw`a: "say \"so\" \\ no"`, String.raw`say "so" \ no`],
    ["a: 'it''s'", "it's"],
    ['a: it’s 50 % of x402-v1', 'it’s 50 % of x402-v1'],
    ['a: https://example.org/a:b', 'https://example.org/a:b'],
    ['a:   spaced   ', 'spaced'],
    ["a: don't", "don't"],
    ['a: -5', '-5'],
    ['a: []', []],
    ['a: [ ]', []],
    [`a: ["b, c", 'd]', e f ]`, ['b, c', 'd]', 'e f']],
  ])('front matter reads %s as YAML would, with scalars as strings', (line, value) => {
    expect(parseFrontMatter(withFields(line)).fields['a']).toEqual(value)
  })

  test('front matter skips comments and blank lines and accepts CRLF', () => {
    expect(parseFrontMatter('---\r\n# note\r\n\r\na: b\r\n---\r\nOne\r\nTwo')).toEqual({
      fields: { a: 'b' },
      body: 'One\nTwo',
    })
  })

  test('front matter reads a field with the name of an Object member as data', () => {
    const { fields } = parseFrontMatter(withFields('constructor: mine'))
    expect(Object.entries(fields)).toEqual([['constructor', 'mine']])
  })

  test.each([
    ['an empty text', '', 'line 1: the text does not start with'],
    ['a text without front matter', '# Head\n', 'line 1: the text does not start with'],
    ['an unclosed front matter', '---\na: b\n', 'line 1: the front matter has no closing'],
    ['a line without a key', withFields('a: b', 'words'), 'line 3: "words" does not have the form'],
    ['a nested field', withFields('a: b', '  c: d'), 'line 3: "  c: d" does not have the form'],
    ['a key in capitals', withFields('Title: b'), 'line 2: "Title: b" does not have the form'],
    ['a colon without a space', withFields('a:b'), 'line 2: "a:b" does not have the form'],
    ['the same key twice', withFields('a: b', '', 'a: c'), 'line 4: "a" is defined twice'],
    ['an empty value', withFields('a:'), 'line 2: the value is empty'],
    ['a value of spaces', withFields('a:   '), 'line 2: the value is empty'],
    ['a list that is not closed', withFields('a: [b, c'), 'line 2: the list is not closed'],
    ['a list with a trailing comma', withFields('a: [b, ]'), 'line 2: the list is invalid'],
    ['a list with an empty item', withFields('a: [b,,c]'), 'line 2: the list is invalid'],
    ['a list in a list', withFields('a: [b, [c]]'), 'line 2: the list is invalid'],
    ['text after a quoted item', withFields('a: ["b" c]'), 'line 2: the list is invalid'],
    ['a quote that is not closed', withFields('a: "b'), 'line 2: ""b" must be in quotes'],
    ['an unknown escape', withFields(String.raw`a: "b\n"`), 'line 2: '],
    ['an unquoted colon', withFields('a: b: c'), 'line 2: "b: c" must be in quotes'],
    ['an unquoted comment', withFields('a: b # c'), 'line 2: "b # c" must be in quotes'],
    ['a block list', withFields('a: - b'), 'line 2: "- b" must be in quotes'],
    ['a block text', withFields('a: |'), 'line 2: "|" must be in quotes'],
    ['an unquoted colon in a list', withFields('a: [b: c]'), 'line 2: "b: c" must be in quotes'],
  ])('parseFrontMatter refuses %s and names the line', (_name, text, message) => {
    expect(() => parseFrontMatter(text)).toThrow(message)
  })
})
