import { receiptId, signingText } from '../../auth/messages.ts'
import { signBytes } from '../../auth/signing-key.ts'
import type { SigningKey } from '../../auth/signing-key.ts'
import { answerDays, jobExchange } from '../../core/job.ts'
import { toUsdc } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import type { NewReceipt } from '../receipts/record.ts'
import type { JobRecord } from './record.ts'
import { jobUrl } from './view.ts'

export type AcceptedBy = 'poster' | 'clock'

/** Contains the agreed price; the summary states that the exchange moved no money. */
export function jobReceipt(
  job: JobRecord,
  award: NonNullable<JobRecord['award']>,
  issue: {
    readonly key: SigningKey
    readonly siteUrl: string
    readonly by: AcceptedBy
    readonly nowMs: number
  },
): NewReceipt {
  const now = isoTime(issue.nowMs)
  const evidenceUrl = jobUrl(issue.siteUrl, job.id)
  const accepted =
    issue.by === 'poster'
      ? `The poster of "${job.title}" accepted the work for the agreed price.`
      : `The poster of "${job.title}" neither accepted nor disputed the work within ${answerDays} days, so it counts as accepted for the agreed price.`
  const summary = `${accepted} The exchange issued this receipt for accepted work. The exchange handles no payments and has no evidence of a payment.`
  const unsigned = {
    rail: jobExchange.rail,
    from_wallet: job.posterDisplay,
    to_wallet: award.bidderDisplay,
    amount_usdc: toUsdc(award.priceMicroUsdc),
    asset_symbol: 'USDC',
    occurred_at: now,
    summary,
    job_id: job.id,
    evidence_url: evidenceUrl,
    platform: jobExchange.platform,
    platform_signature: '',
  }
  const signature = signBytes(issue.key, Buffer.from(signingText(unsigned), 'utf8'))
  const content = {
    ...unsigned,
    platform_signature: `ed25519:${Buffer.from(signature).toString('base64')}`,
  }
  return {
    id: receiptId(content),
    kind: 'platform',
    rail: jobExchange.rail,
    chain: null,
    txHash: null,
    from: parseWallet(job.posterDisplay),
    to: parseWallet(award.bidderDisplay),
    amountMicroUsdc: award.priceMicroUsdc,
    assetSymbol: 'USDC',
    occurredAt: now,
    summary,
    jobId: job.id,
    evidenceUrl,
    platform: jobExchange.platform,
    publicKey: null,
    submitter: job.poster,
    content,
    verification: 'unverified',
    verificationReason: 'Issued by the exchange for accepted work, without evidence of a payment',
    onchain: 'none',
    acceptedAt: now,
  }
}
