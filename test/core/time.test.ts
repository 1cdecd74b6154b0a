import { describe, expect, it } from 'vitest'

import { isoTime, parseTime } from '../../src/core/time.ts'

describe('times on the wire', () => {
  it.each([
    ['2026-11-21T06:00:00Z', '2026-11-21T06:00:00.000Z'],
    ['2026-11-21t06:00:00.5z', '2026-11-21T06:00:00.500Z'],
    ['2026-11-21T06:00:00.123456789+01:00', '2026-11-21T05:00:00.123Z'],
    ['2024-02-29T23:59:59-12:30', '2024-03-01T12:29:59.000Z'],
  ])('the time %s is read', (text, same) => {
    const timeMs = parseTime(text)
    expect(timeMs === null ? null : isoTime(timeMs)).toBe(same)
  })

  it.each([
    '',
    '2026-11-21',
    '2026-11-21T06:00:00',
    '2026-11-21 06:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-11-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T06:00:60Z',
    '1763700000',
    '2026-11-21T06:00:00+24:00',
    ' 2026-11-21T06:00:00Z',
    '2026-11-21T06:00:00Z\n',
    '+002026-11-21T06:00:00Z',
  ])('the time %j is refused', (text) => {
    expect(parseTime(text)).toBeNull()
  })
})
