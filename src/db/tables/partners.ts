import {
  bit,
  check,
  integer,
  oneOf,
  optionalText,
  references,
  rowNumber,
  sequence,
  text,
  unique,
  withDefault,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

const tier = oneOf('free', 'starter', 'pro', 'team', 'enterprise')

export const partnerTables = {
  partners: {
    columns: {
      seq: rowNumber,
      handle: unique(text),
      /** Wallet `id`. */
      wallet: unique(text),
      display: text,
      display_name: text,
      email: optionalText,
      skills: text,
      website: optionalText,
      bio_short: optionalText,
      require_body_signature: bit,
      tier,
      /** As last written; `subscriptionAt` gives the status at a time. */
      status: oneOf('pending', 'active', 'past_due', 'cancelled'),
      /** Null for the free tier, and until the first payment. */
      renews_at: optionalText,
      /** JSON array of the paid periods, in order. */
      periods: withDefault(text, "'[]'"),
      on_expiry: withDefault(oneOf('renewal', 'free', 'end'), "'renewal'"),
      oath_signed_at: text,
      /** Wallet `id`; null after an operator released it. */
      attestation_wallet: optionalText,
      attestation_url: optionalText,
      attestation_signature_sha256: optionalText,
      attestation_signed_at: optionalText,
      /** Row of the last change in the oath history; compared by the next change. */
      attestation_oath_seq: references(integer, 'oath_history (seq)'),
      created_at: text,
      updated_at: text,
    },
    constraints: [
      "check (tier <> 'free' or renews_at is null)",
      "check (tier = 'free' or status not in ('active', 'past_due') or renews_at is not null)",
    ],
    indexes: {
      partners_by_renewal: '(status, renews_at)',
    },
  },

  subscription_changes: {
    columns: {
      seq: sequence,
      handle: references(text, 'partners (handle)'),
      kind: oneOf('paid', 'credited', 'free', 'cancelled', 'granted', 'undone'),
      payment_id: references(optionalText, 'payments (id)'),
      tier,
      price_micro_usdc: check(integer, '$ >= 0'),
      paid_micro_usdc: check(integer, '$ >= 0'),
      credit_micro_usdc: check(integer, '$ >= 0'),
      from_at: optionalText,
      until_at: optionalText,
      answer: text,
      created_at: text,
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
