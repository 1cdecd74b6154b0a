/** The member `log` of answers about receipts. */
import { sha256Hex } from '../auth/messages.ts'
import type { NoteSigner } from '../auth/notes.ts'
import type { ReceiptLog } from '../contract/schemas/receipt.ts'
import { toBase64 } from '../core/base64.ts'
import { isoTime, minuteMs } from '../core/time.ts'
import { promiseText } from '../core/tlog/entry.ts'
import { leafHash } from '../core/tlog/merkle.ts'
import { formatNote } from '../core/tlog/note.ts'
import { findPublished } from '../db/log.ts'
import type { Db } from '../db/schema.ts'

interface LoggedReceipt {
  readonly id: string
  /** Canonical JSON. */
  readonly content: string
  readonly acceptedAt: string
}

/** Always the same for a receipt, so it is not stored. */
export function promiseOf(signer: NoteSigner, receipt: LoggedReceipt): ReceiptLog {
  const { id, content, acceptedAt } = receipt
  const by = isoTime(Date.parse(acceptedAt) + minuteMs)
  const promised = { kind: 'receipt', id, sha256: sha256Hex(content), by } as const
  const text = promiseText({ origin: signer.key.name, ...promised })
  return { promise: formatNote({ text, signatures: [signer.sign(text)] }) }
}

export async function receiptLogOf(
  db: Db,
  signer: NoteSigner,
  receipt: LoggedReceipt,
): Promise<ReceiptLog> {
  const found = await findPublished(db, 'receipt', receipt.id)
  if (found === null) return promiseOf(signer, receipt)
  const leaf = leafHash(Buffer.from(found.entry))
  return { index: found.position, leaf_hash: toBase64(leaf) }
}
