import { shareFlag } from './measured-share.ts'

const leastWorkers = 3

export const linkedWorkers = shareFlag('linked_workers', 'info', 0.5, (measures) => {
  const [group] = measures.collected
    .filter(({ wallets }) => wallets >= leastWorkers)
    .toSorted((a, b) => b.grossMicroUsdc - a.grossMicroUsdc)
  if (group === undefined) return null
  return {
    microUsdc: group.grossMicroUsdc,
    ofMicroUsdc: measures.grossMicroUsdc,
    text: (percent) =>
      `${group.wallets} workers with ${percent} of the volume pass most of their income to one wallet`,
    evidence: { workers: group.wallets },
  }
})
