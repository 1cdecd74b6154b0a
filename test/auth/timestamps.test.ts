import { describe, expect, test } from 'vitest'

import { unixSecondsOfDateHeader } from '../../src/auth/timestamps.ts'

describe('a Date header', () => {
  test('a Date header is converted to Unix seconds', () => {
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
  ])('the Date header %j is refused', (text) => {
    expect(unixSecondsOfDateHeader(text)).toBeNull()
  })
})
