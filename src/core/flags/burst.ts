import { counted } from '../number-text.ts'
import { burstHours } from '../rules/hours.ts'
import { shareFlag } from './measured-share.ts'

const leastPayments = 20

export const burst = shareFlag('burst', 'info', 0, ({ sessions, grossMicroUsdc }) => {
  const { payments, busyHours, busyMicroUsdc } = sessions
  if (payments < leastPayments || busyHours > burstHours) return null
  return {
    microUsdc: busyMicroUsdc,
    ofMicroUsdc: grossMicroUsdc,
    text: () => `most payments fall into ${counted(busyHours, 'hour')}`,
    evidence: { hours: busyHours, payments },
  }
})
