import { shareFlag } from './measured-share.ts'

export const batchPayouts = shareFlag('batch_payouts', 'info', 0.5, (measures) => ({
  microUsdc: measures.batchMicroUsdc,
  ofMicroUsdc: measures.grossMicroUsdc,
  text: (percent) => `${percent} are equal payouts: rewards or payroll`,
}))
