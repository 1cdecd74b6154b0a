import type { Reference } from '../../../src/actions/reference.ts'
/** Oaths as clients swear them. */
import { fillOath } from '../../../src/auth/messages.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { iso } from '../model/reading.ts'

export async function swear(
  reference: Reference,
  kind: 'claim' | 'partner',
  by: { readonly wallet: TestWallet; readonly nowMs: number },
): Promise<string> {
  return await by.wallet.sign(oathText(reference, kind, by))
}

export function oathText(
  reference: Reference,
  kind: 'claim' | 'partner',
  { wallet, nowMs }: { readonly wallet: TestWallet; readonly nowMs: number },
): string {
  const text = reference.oaths.get(kind)?.text ?? ''
  return fillOath(text, { wallet: wallet.address, timestamp: iso(nowMs) })
}
