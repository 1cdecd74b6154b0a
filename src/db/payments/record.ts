/** A payment as the program has it, and how it is read from its row. */
import type { Selectable } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText } from '../json.ts'
import type { PaymentsTable } from '../tables/payments.ts'

/** What a payment is for; decides what it sets in motion when it has settled. */
export type PaymentPurpose = 'read' | 'subscription'

/** What makes an authorization one of a kind; the payer and nonce in lower case. */
export interface PaymentKey {
  readonly chainId: number
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

export interface NewPayment extends PaymentKey {
  readonly id: string
  readonly payTo: string
  readonly amountMicroUsdc: number
  /** Unix seconds. */
  readonly validAfter: number
  readonly validBefore: number
  readonly signatureSha256: string
  readonly purpose: PaymentPurpose
  readonly resource: string
  readonly detail: JsonObject | null
  readonly settler: 'local' | 'facilitator'
  readonly reservedAt: string
}

export interface PaymentRecord extends NewPayment {
  readonly seq: number
  readonly state: PaymentsTable['state']
  readonly reason: string | null
  readonly txHash: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly finality: PaymentsTable['finality']
  readonly submittedAt: string | null
  readonly settledAt: string | null
  readonly deliveredAt: string | null
  readonly finalAt: string | null
}

/** Where on the chain a payment was found. */
export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}

export function toRecord(row: Selectable<PaymentsTable>): PaymentRecord {
  return {
    seq: row.seq,
    id: row.id,
    chainId: row.chain_id,
    asset: row.asset,
    payer: row.payer,
    nonce: row.nonce,
    payTo: row.pay_to,
    amountMicroUsdc: row.amount_micro_usdc,
    validAfter: row.valid_after,
    validBefore: row.valid_before,
    signatureSha256: row.signature_sha256,
    purpose: purposeOf(row.purpose),
    resource: row.resource,
    detail: row.detail === null ? null : objectFromJsonText(row.detail),
    settler: row.settler,
    state: row.state,
    reason: row.reason,
    txHash: row.tx_hash,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
    finality: row.finality,
    reservedAt: row.reserved_at,
    submittedAt: row.submitted_at,
    settledAt: row.settled_at,
    deliveredAt: row.delivered_at,
    finalAt: row.final_at,
  }
}

function purposeOf(text: string): PaymentPurpose {
  if (text === 'read' || text === 'subscription') return text
  throw new TypeError(`A payment has the purpose ${text}, which this program does not know.`)
}
