/** Values that Markdown pages insert with `{{name}}`. */
import { offerKind, receiptKind } from '../../../src/auth/offer-receipt.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import openapiParts from '../../../src/contract/openapi/parts.json' with { type: 'json' }
import { mcpPath } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { PAYMENT_TIMEOUT_SECONDS, paymentAsset } from '../../../src/contract/x402.ts'
import { keptRows, limitPolicies, requestCosts } from '../../../src/core/limits.ts'
import { grouped } from '../../../src/core/number-text.ts'
import { GRACE_MS, PATIENCE_MS, PERIOD_MS } from '../../../src/core/partner.ts'
import {
  brackets,
  earnedMicroPoints,
  evidenceTenths,
  independenceTenths,
  reputationFormula,
  strangers,
  toPoints,
} from '../../../src/core/reputation/formula.ts'
import { reputationDecayDays } from '../../../src/core/reputation/standing.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { amountText } from '../../../src/pages/figures.ts'
import { missedAtLeast, missingMs, windowMs } from '../../chain/receipt-verdict.ts'
import { exampleRail } from '../../world/authored.ts'
import type { World } from '../../world/world.ts'
import { receiptChecksPath } from '../receipt-checks.ts'
import costs from './cost.json' with { type: 'json' }
import { originPeakPerSecond } from './cost.ts'
import { modelSchemas } from './models.ts'

const { edgeCache, originPerSecond, writes } = costs

export function docsValues(
  world: Pick<World, 'site' | 'taxonomy'>,
): Readonly<Record<string, string>> {
  const { site, taxonomy } = world
  return {
    site_url: site.url,
    service_name: site.serviceName,
    version: site.version,
    partner_signature: openapiParts.securitySchemes.partnerSignature.description,
    mcp_url: `${site.url}${mcpPath}`,
    receipt_checks_path: receiptChecksPath,
    offer_type: offerKind.type,
    seller_receipt_type: receiptKind.type,
    example_rail: exampleRail(taxonomy.skills),
    first_skill: taxonomy.skills[0]?.slug ?? '',
    endpoint_count: String(routes.length),
    model_count: String(modelSchemas(world).length),
    error_count: String(Object.keys(errorCodes).length),
    ip_per_minute: String(limitPolicies.ip.quota),
    ip_per_day: String(limitPolicies.day.quota),
    reserve_per_minute: String(limitPolicies.reserve.quota),
    stored_per_day: grouped(String(limitPolicies.stored.quota)),
    receipt_rows: String(keptRows.receipt),
    transaction_rows: String(keptRows.receipt + keptRows.transaction),
    registration_rows: String(keptRows.registration),
    work_per_minute: grouped(String(limitPolicies.work.quota)),
    list_units_per_minute: String(limitPolicies.ip.quota * requestCosts.database),
    payment_chain_id: String(paymentAsset.chainId),
    payment_timeout_s: String(PAYMENT_TIMEOUT_SECONDS),
    period_days: String(PERIOD_MS / dayMs),
    grace_days: String(GRACE_MS / dayMs),
    patience_days: String(PATIENCE_MS / dayMs),
    window_hours: String(windowMs / hourMs),
    missing_hours: String(missingMs / hourMs),
    missing_runs: String(missedAtLeast),
    reputation_formula: reputationFormula,
    reputation_days: String(reputationDecayDays),
    reputation_example: reputationExample,
    reputation_most: String(bracketPoints(0, brackets[3].upToUsdc)),
    stranger_count: String(strangers.workers),
    stranger_usdc: String(strangers.microUsdc / 1e6),
    origin_peak_per_second: originPeakPerSecond.toFixed(0),
    origin_peak_share: `${((originPeakPerSecond / originPerSecond) * 100).toFixed(1)} %`,
    origin_per_second: grouped(String(originPerSecond)),
    edge_keeps_hours: String(edgeCache.keepsSeconds / 3600),
    edge_header_bytes: grouped(String(edgeCache.headerBytes)),
    write_group_size: String(writes.groupSize),
  }
}

function bracketPoints(paidBeforeUsdc: number, amountUsdc: number, independence = 10): number {
  return toPoints(
    earnedMicroPoints({
      payer: null,
      party: null,
      amountMicroUsdc: amountUsdc * 1e6,
      paidBeforeMicroUsdc: paidBeforeUsdc * 1e6,
      evidence: evidenceTenths.onchain,
      independence,
      percent: 100,
    }),
  )
}

const reputationExample = `A payer that the ledger has known for 90 days pays a worker 100 USDC, after 20 USDC in the same quarter. The payment is verified on-chain. The brackets give ${amountText(bracketPoints(20, 100))} points, of which the receipt earns 40 %, ${amountText(bracketPoints(20, 100, independenceTenths.known90Days))} points: 30 % at once and the rest after 14 days.`
