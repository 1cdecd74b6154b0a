/** Sentences of the contract: their `code` marks become code in both forms of a page. */
import { code, concat, twinOf } from '../twin.ts'
import type { Twin } from '../twin.ts'

export function contractText(text: string): Twin {
  return concat(text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : twinOf(part))))
}
