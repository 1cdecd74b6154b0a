import { shareFlag } from './measured-share.ts'
import { singlePaymentAbove } from './single_payment.ts'

export const dominantPayer = shareFlag('dominant_payer', 'info', 0.9, (measures) => {
  const { payers, netMicroUsdc, grossMicroUsdc, largestPaymentMicroUsdc: largest } = measures
  const [party] = payers
  if (party === undefined || largest > singlePaymentAbove * grossMicroUsdc) return null
  return {
    microUsdc: party.netMicroUsdc,
    ofMicroUsdc: netMicroUsdc,
    text: (percent) => `one customer pays ${percent} of the net volume`,
    evidence: { payers: party.wallets, parties_30d: payers.length },
  }
})
