/** Amounts are integers of micro-USDC internally and decimal numbers in JSON. */

export const microPerUsdc = 1_000_000
export const maxAmountUsdc = 1_000_000_000
const decimalForm = /^(0|[1-9]\d{0,9})(?:\.(\d{1,6}))?$/

export function toUsdc(amountMicroUsdc: number): number {
  return amountMicroUsdc / microPerUsdc
}

export function usdcOrNull(amountMicroUsdc: number | null): number | null {
  return amountMicroUsdc === null ? null : toUsdc(amountMicroUsdc)
}

/** Accepts up to 1,000,000,000 USDC. Returns null for amounts that are not exact in micro-USDC. */
export function parseUsdc(amount: number | string): number | null {
  const match = decimalForm.exec(typeof amount === 'string' ? amount : decimalText(amount))
  if (match === null) return null
  const [, whole = '0', fraction = ''] = match
  const amountMicroUsdc = Number(whole) * microPerUsdc + Number(fraction.padEnd(6, '0'))
  return amountMicroUsdc <= maxAmountUsdc * microPerUsdc ? amountMicroUsdc : null
}

/** Rounds down. Returns null if the result is not a safe integer. */
export function microFromBaseUnits(baseUnits: bigint, decimals: number): number | null {
  const shift = decimals - 6
  const micro = shift >= 0 ? baseUnits / 10n ** BigInt(shift) : baseUnits * 10n ** BigInt(-shift)
  return micro >= 0n && micro <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(micro) : null
}

/** Small numbers print with an exponent, which is not the decimal form. */
function decimalText(amount: number): string {
  if (!Number.isFinite(amount)) return ''
  const text = String(amount)
  return text.includes('e') && Math.abs(amount) < 1 ? amount.toFixed(12).replace(/0+$/, '') : text
}
