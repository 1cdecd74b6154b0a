import { shareFlag } from './measured-share.ts'

export const circularFlow = shareFlag('circular_flow', 'warning', 0.3, (measures) => ({
  microUsdc: measures.circularMicroUsdc,
  ofMicroUsdc: measures.grossMicroUsdc,
  text: (percent) => `${percent} came back to its payers: refunds, change or circulation`,
}))
