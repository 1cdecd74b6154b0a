import { shareFlag } from './measured-share.ts'

const leastWallets = 5

export const commonFunder = shareFlag('common_funder', 'warning', 0.5, (measures) => {
  const [party] = measures.payers
    .filter(({ wallets }) => wallets >= leastWallets)
    .toSorted((a, b) => b.grossMicroUsdc - a.grossMicroUsdc)
  if (party === undefined) return null
  return {
    microUsdc: party.grossMicroUsdc,
    ofMicroUsdc: measures.grossMicroUsdc,
    text: (percent) =>
      `${party.wallets} payers of ${percent} share a source of funds and count as one`,
    evidence: { payers: party.wallets },
  }
})
