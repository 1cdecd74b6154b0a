import type { PaymentFacts, WalletFacts } from './facts.ts'

/** A wallet of this age with this many recipients or senders is a hub, listed or not. */
export const hubAgeDays = 40
export const hubStrangers = 200

/** Null: not tested, so nothing is concluded from the wallet. */
export function isHub(wallet: WalletFacts | undefined): boolean | null {
  if (wallet === undefined) return null
  const { listedHub, ageDays, recipients, senders = null } = wallet
  if (listedHub) return true
  if (ageDays !== null && ageDays < hubAgeDays) return false
  const strangers = recipients === null ? senders : Math.max(recipients, senders ?? 0)
  if (strangers !== null && strangers < hubStrangers) return false
  return ageDays === null || strangers === null ? null : true
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
