/** How what was checked is shown, and how it ends. */
import { holds } from '../../src/client/verify.ts'
import type { Check } from '../../src/client/verify.ts'
import { exitCodes } from './command.ts'
import { describe, plain } from './output.ts'
import type { Session } from './session.ts'

/** Prints every check; the exit code says whether all hold. */
export function printChecks(
  { print }: Pick<Session, 'print'>,
  subject: object,
  checks: readonly Check[],
): number {
  const good = holds(checks)
  const lines = checks.map(
    (check) => `${check.good ? 'good' : 'BAD '}  ${plain(check.what)}: ${plain(check.detail)}\n`,
  )
  const value = { ...subject, good, checks }
  print(
    value,
    `${describe(subject)}${lines.join('')}${good ? 'Everything holds.' : 'This does not hold.'}\n`,
  )
  return good ? exitCodes.ok : exitCodes.refused
}
