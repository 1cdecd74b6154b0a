import { z } from 'zod'

import { bodyModel, model, named, time, url, wallet, text } from './common.ts'
import { nameInput, signatureInput, timeInput, walletInput } from './input.ts'

/** Common addresses only: ASCII, one `@`, a domain with a dot. */
const email = text(254)
  .regex(
    /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/,
    'must be an e-mail address',
  )
  .meta({ format: 'email', example: 'worker@ledger.example' })

export const walletClaimBody = bodyModel('WalletClaim', {
  wallet: walletInput,
  display_name: nameInput,
  timestamp: timeInput,
  signature: signatureInput,
  oath_signature: signatureInput.describe('Signature over the filled-in claim oath.'),
  email: email
    .optional()
    .describe(
      'Added to the claim, which then takes effect when the code from the e-mail is sent back.',
    ),
})
export type WalletClaimBody = z.infer<typeof walletClaimBody>

export const emailClaimBody = bodyModel('EmailClaim', {
  email: email.describe('Where the code is sent.'),
  display_name: nameInput.describe('The public name.'),
  wallet: walletInput
    .optional()
    .describe(
      'The wallet whose spot is claimed: unregistered, without receipts and without a claim.',
    ),
})
export type EmailClaimBody = z.infer<typeof emailClaimBody>

export const emailCodeBody = bodyModel('EmailClaimCode', {
  email,
  code: z
    .string()
    .regex(
      /^[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{8}$/,
      'must be the code from the e-mail: 8 letters and digits',
    )
    .describe('The code from the e-mail, in upper or lower case.')
    .meta({ example: '7K3QW9ZD' }),
})
export type EmailCodeBody = z.infer<typeof emailCodeBody>

export const claimBody = named(
  'ClaimRequest',
  z.union([walletClaimBody, emailClaimBody, emailCodeBody]),
)
export type ClaimBody = z.infer<typeof claimBody>

/** An e-mail claim proves control of a mailbox and nothing about the wallet. */
export const claimProof = z
  .enum(['key', 'email'])
  .describe('What proves the claim: a signature of the wallet, or only an e-mail address.')

export const claim = model('Claim', {
  wallet: wallet.nullable(),
  display_name: text(80),
  claimed: z.boolean().describe('Whether the key of the wallet has signed the claim.'),
  claim: claimProof,
  rank: z
    .int()
    .min(1)
    .nullable()
    .describe('Rank on the leaderboard; null without a receipt that counts.'),
  claimed_at: time,
  next: url.describe('Address of the partner signup.'),
  docs: url,
})

export const codeSent = model('ClaimCodeSent', {
  status: z.enum(['code_sent']),
  expires_at: time,
  docs: url,
})
