import { followUps, subscriptionStatuses, tierNames } from '../../core/partner.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

const tier = column.oneOf(...tierNames)

export const partnerTables = {
  partners: {
    columns: {
      seq: column.rowNumber,
      handle: column.unique(column.text),
      /** Wallet `id`. */
      wallet: column.unique(column.text),
      display: column.text,
      display_name: column.text,
      email: column.optionalText,
      skills: column.strings,
      website: column.optionalText,
      bio_short: column.optionalText,
      require_body_signature: column.bit,
      tier,
      /** As last written; `subscriptionAt` gives the status at a time. */
      status: column.oneOf(...subscriptionStatuses),
      /** Null for the free tier, and until the first payment. */
      renews_at: column.optionalText,
      /** Price paid per 30 days of the remaining time. */
      rate_micro_usdc: column.withDefault(column.check(column.integer, '$ >= 0'), '0'),
      on_expiry: column.withDefault(column.oneOf(...followUps), "'renewal'"),
      oath_signed_at: column.text,
      /** Wallet `id`; null after an operator released it. */
      attestation_wallet: column.optionalText,
      attestation_url: column.optionalText,
      attestation_signature_sha256: column.optionalText,
      attestation_signed_at: column.optionalText,
      /** Row of the last change in the oath history. The next change compares it. */
      attestation_oath_seq: column.references(column.integer, 'oath_history (seq)'),
      created_at: column.text,
      updated_at: column.text,
    },
    constraints: [
      "check (tier <> 'free' or renews_at is null)",
      'check (renews_at is not null or rate_micro_usdc = 0)',
      "check (tier = 'free' or status not in ('active', 'past_due') or renews_at is not null)",
    ],
    indexes: {
      partners_by_renewal: '(status, renews_at)',
    },
  },

  subscription_changes: {
    columns: {
      seq: column.sequence,
      handle: column.references(column.text, 'partners (handle)'),
      kind: column.oneOf('paid', 'free', 'cancelled', 'granted', 'undone'),
      payment_id: column.references(column.optionalText, 'payments (id)'),
      tier,
      paid_micro_usdc: column.check(column.integer, '$ >= 0'),
      from_at: column.optionalText,
      until_at: column.optionalText,
      answer: column.object,
      created_at: column.text,
    },
    constraints: ["check ((kind in ('paid', 'undone')) = (payment_id is not null))"],
    indexes: {
      subscription_changes_by_handle: '(handle, seq)',
    },
    uniqueIndexes: {
      subscription_payments_once: '(payment_id, kind) where payment_id is not null',
    },
    appendOnly: 'subscription_changes is append-only',
  },
} as const satisfies Record<string, TableDefinition>
