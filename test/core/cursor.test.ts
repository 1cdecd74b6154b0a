import { expect, test } from 'vitest'

import { decodeCursor, encodeCursor } from '../../src/core/cursor.ts'

test.each([0, 1, 50, 123_456_789, Number.MAX_SAFE_INTEGER])(
  'the sequence number %i round-trips through a cursor',
  (seq) => {
    expect(decodeCursor('receipts', encodeCursor('receipts', seq))).toBe(seq)
  },
)

test('decodeCursor returns null for the cursor of another list and for other text', () => {
  const good = encodeCursor('workers', 5)
  const bad = [good, `${good}=`, `${good}A`, '', ' ', '5', btoa('receipts.-1'), btoa('receipts.05')]
  for (const cursor of [...bad, btoa('receipts.1e3'), btoa('receipts.9999999999999999'), '../..']) {
    expect(decodeCursor('receipts', cursor.replaceAll('=', ''))).toBe(null)
  }
})
