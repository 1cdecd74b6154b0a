import type { Config } from '../config.ts'
import type { PaymentSettings } from '../payments/load.ts'

const weiPerMilliGwei = 1_000_000n

/** Requires settings that `parseConfig` has checked. */
export function paymentSettingsOf(config: Config): PaymentSettings {
  const { SETTLEMENT: mode, PAYMENT_RECEIVER: receiver } = config
  if (mode === 'off' || receiver === null) return { mode: 'off', receiver }
  if (mode === 'local') {
    const { SETTLER_KEY_FILE: keyFile, SETTLER_MAX_GAS_GWEI: gwei } = config
    if (keyFile === null) throw new TypeError('a local settlement requires a key file')
    return {
      mode,
      receiver,
      keyFile,
      maxGasPriceWei: BigInt(Math.round(gwei * 1000)) * weiPerMilliGwei,
    }
  }
  const {
    FACILITATOR_URL: facilitatorUrl,
    CDP_API_KEY_ID: id,
    CDP_API_KEY_SECRET: privateKey,
  } = config
  if (facilitatorUrl === null) throw new TypeError('a facilitator requires an address')
  const cdpKey = id === null || privateKey === null ? null : { id, privateKey }
  return { mode, receiver, facilitatorUrl, cdpKey }
}
