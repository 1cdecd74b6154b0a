/** Keys, names and addresses of the clients. */
import { ed25519Key, evmWallet, nearWallet, solanaWallet } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import type { Chance } from '../random.ts'

export const platformKey = ed25519Key('platform')
export const ownKey = ed25519Key('own')
export const otherKey = ed25519Key('other')

/** Contract and Solana signatures are slow: one such wallet, rarely drawn. */
export const wallets = [
  nearWallet('ada'),
  nearWallet('bob'),
  solanaWallet('cyd'),
  evmWallet('dan'),
] as const
export const addresses = ['192.0.2.7', '192.0.2.8', '2001:db8::9'] as const
export const agents = ['curl/8', 'agent/1'] as const
export const handles = ['first', 'second', 'third', 'fourth'] as const
/** Some look alike. */
export const names = ['Orion', '0rion', 'Barn', 'Bam', 'Vivid Vole'] as const

export function drawWallet(chance: Chance): TestWallet {
  return wallets[chance.happens(0.03) ? 3 : chance.below(3)] ?? wallets[0]
}
