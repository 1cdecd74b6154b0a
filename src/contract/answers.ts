/** The few shapes that routes are written with. */
import type { Parameter } from './route.ts'
import { cursorInput, limitInput } from './schemas/common.ts'

export const documents = (maxAgeSeconds: number) => ({ kind: 'document', maxAgeSeconds }) as const

export const privateHandler = { kind: 'handler', cache: 'private, no-store' } as const

/** Every list has these. */
export const pageQuery = {
  limit: { schema: limitInput, description: 'Entries of a page, 1 to 200.', example: '50' },
  cursor: {
    schema: cursorInput,
    description: '`next_cursor` of the page before; opaque.',
    example: 'd29ya2Vycy4xMjM',
  },
} as const satisfies Record<string, Parameter>
