import { sha256Hex } from '../../src/auth/messages.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { sendGet } from '../../src/client/transport.ts'
import type { DisputeTarget } from '../../src/contract/schemas/dispute.ts'
import { option } from './command.ts'
import type { Arguments } from './command.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import type { Session } from './session.ts'

export const targetArguments: Arguments = {
  document: option('path', 'path of the disputed document, such as /api/v1/rails'),
  sha256: option('hex', 'SHA-256 of the document that you read (default: of the current one)'),
  flag: option('flg_…', 'id of the disputed flag'),
  receipt: option('rcp_…', 'id of the disputed receipt'),
}

/** @throws UsageError unless the options name one target */
export async function targetOf(session: Session, input: Input): Promise<DisputeTarget> {
  const named = ['document', 'flag', 'receipt'].map(input.text)
  const [path = '', flag, receipt] = named
  if (named.filter((one) => one !== undefined).length !== 1)
    throw new UsageError('give one of --document, --flag and --receipt')
  if (flag !== undefined) return { flag_id: flag }
  if (receipt !== undefined) return { receipt_id: receipt }
  if (!path.startsWith('/')) throw new UsageError('--document must be a path such as /api/v1/rails')
  const given = input.text('sha256')
  if (given !== undefined) return { path, sha256: given }
  const { bytes } = await sendGet(session, `${siteUrlOf(session.ledger)}${path}`)
  return { path, sha256: sha256Hex(bytes) }
}
