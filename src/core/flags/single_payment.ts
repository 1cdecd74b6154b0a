import { shareFlag } from './measured-share.ts'

export const singlePaymentAbove = 0.8

export const singlePayment = shareFlag(
  'single_payment',
  'info',
  singlePaymentAbove,
  (measures) => ({
    microUsdc: measures.largestPaymentMicroUsdc,
    ofMicroUsdc: measures.grossMicroUsdc,
    text: (percent) => `one payment makes up ${percent}`,
  }),
)
