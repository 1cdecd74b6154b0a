import type { PaymentFacts, WalletFacts } from './facts.ts'

/** A wallet of this age with this many recipients is a hub, listed or not. */
export const hubAgeDays = 90
export const hubRecipients = 200

/** Null: not tested, so nothing is concluded from the wallet. */
export function isHub(wallet: WalletFacts | undefined): boolean | null {
  if (wallet === undefined) return null
  const { listedHub, ageDays, recipients } = wallet
  if (listedHub) return true
  if (ageDays !== null && ageDays < hubAgeDays) return false
  if (recipients !== null && recipients < hubRecipients) return false
  return ageDays === null || recipients === null ? null : true
}

/** Returns true for wallets through which money may be traced: members of the rail and tested wallets, except hubs. */
export function createLinkTest(
  { wallets }: Pick<PaymentFacts, 'wallets'>,
  isMember: (wallet: string) => boolean,
): (wallet: string) => boolean {
  return (wallet) => {
    const hub = isHub(wallets.get(wallet))
    return hub === null ? isMember(wallet) : !hub
  }
}
