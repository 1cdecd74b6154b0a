import { describe, expect, test } from 'vitest'

import {
  isWithinWindow,
  parseBodyTimestamp,
  parsePartnerTimestamp,
  unixSecondsOfDateHeader,
} from '../../src/auth/timestamps.ts'

const nowMs = 1_767_225_600_000

describe('isWithinWindow', () => {
  test.each([
    [-300_001, false],
    [-300_000, true],
    [0, true],
    [300_000, true],
    [300_001, false],
  ])('%d ms from now: %s', (offsetMs, expected) => {
    expect(isWithinWindow(nowMs + offsetMs, nowMs)).toBe(expected)
  })

  test('is false for seconds read as milliseconds', () => {
    expect(isWithinWindow(nowMs / 1000, nowMs)).toBe(false)
  })
})

describe('parsePartnerTimestamp', () => {
  test('reads seconds in 10 digits or milliseconds in 13', () => {
    expect(parsePartnerTimestamp('1767225600')).toBe(nowMs)
    expect(parsePartnerTimestamp('1767225600123')).toBe(nowMs + 123)
  })

  test.each([
    '',
    '0',
    '-1',
    '+1767225600',
    '-1767225600',
    '1e9',
    '1.7672256e9',
    'NaN',
    'Infinity',
    'null',
    '0x69560000',
    '176722560',
    '17672256000',
    '176722560000',
    '17672256001234',
    '0767225600',
    '0767225600123',
    ' 1767225600',
    '1767225600 ',
    '1767225600\n',
    '\t1767225600',
    '1767225600.0',
    '1,767,225,600',
    '1_767_225_600',
    '9223372036854775808',
    '1767225600,1767225600',
    '１７６７２２５６００',
    '٠١٢٣٤٥٦٧٨٩',
    '1767225600\u0000',
    '2026-01-01T00:00:00Z',
    '1767225600ms',
  ])('%j is none', (text) => {
    expect(parsePartnerTimestamp(text)).toBeNull()
  })
})

describe('parseBodyTimestamp', () => {
  test.each([
    ['2026-01-01T00:00:00.000Z', nowMs],
    ['2026-01-01T00:00:00Z', nowMs],
    ['2026-01-01T01:00:00+01:00', nowMs],
  ])('%s is read', (text, expected) => {
    expect(parseBodyTimestamp(text)).toBe(expected)
  })

  test.each([
    '',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01 00:00:00Z',
    '1767225600',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    `2026-01-01T00:00:00.${'0'.repeat(100)}Z`,
  ])('%j is refused', (text) => {
    expect(parseBodyTimestamp(text)).toBeNull()
  })
})

describe('a Date header', () => {
  test('is converted to Unix seconds', () => {
    expect(unixSecondsOfDateHeader('Thu, 01 Jan 2026 00:00:00 GMT')).toBe('1767225600')
  })

  test.each([
    '',
    'Fri, 01 Jan 2026 00:00:00 GMT',
    'Thu, 1 Jan 2026 00:00:00 GMT',
    'Thu, 01 Jan 2026 00:00:00 UTC',
    'Thursday, 01-Jan-26 00:00:00 GMT',
    'Thu Jan  1 00:00:00 2026',
    'Thu, 01 Jan 2026 24:00:00 GMT',
    'Tue, 31 Feb 2026 00:00:00 GMT',
    '1767225600',
    '2026-01-01T00:00:00Z',
    'Thu, 01 Jan 2026 00:00:00 GMT ',
    'thu, 01 jan 2026 00:00:00 gmt',
  ])('%j is refused', (text) => {
    expect(unixSecondsOfDateHeader(text)).toBeNull()
  })
})
