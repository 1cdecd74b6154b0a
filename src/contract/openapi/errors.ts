import { entriesOf } from '../../core/entries.ts'
import { errorBody, errorCodes } from '../errors.ts'
import type { ErrorCode, UsualAnswer } from '../errors.ts'

/** By status, unless the route describes the answer itself. */
export function usualError(status: number): UsualAnswer & { readonly code: ErrorCode } {
  for (const [code, { status: of, usual }] of entriesOf(errorCodes)) {
    if (of === status && usual !== undefined) return { code, ...usual }
  }
  return { code: 'internal_error', description: 'Error.' }
}

/** @param code of the error, if it is not the usual one */
export function errorExample(status: number, docsUrl: string, code?: ErrorCode) {
  const usual = usualError(status)
  return code === undefined || code === usual.code
    ? errorBody(usual.code, docsUrl, usual.details, usual.issues)
    : errorBody(code, docsUrl)
}
