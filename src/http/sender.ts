import type { Sender } from '../actions/sender.ts'
import { networkWords } from './network-key.ts'

/** One IPv4 address is one sender, and one /64 of IPv6: whoever has that may send from any address in it. */
export function senderOf(sent: { readonly address: string; readonly userAgent: string }): Sender {
  const words = networkWords(sent.address)
  return { network: words === null ? 'unknown' : words.join('.'), userAgent: sent.userAgent }
}
