import type { PaymentRequiredError } from '../../src/client/errors.ts'
import { signEvmHash, signerOf } from '../../src/client/signers.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { parseUsdc } from '../../src/core/money.ts'
import { transferDigest } from '../../src/payments/transfer.ts'
import { UsageError, textsOf } from './input.ts'
import type { Input } from './input.ts'
import type { Session } from './session.ts'

const NONCE_BYTES = 32

/**
 * Signs a payment in USDC on Base for the terms of an answer 402 (x402 version 1, scheme `exact`).
 * @throws PaymentRequiredError if the ledger accepts no payments, UsageError if the price is above `--max-usdc`
 */
export async function signPayment(
  session: Session,
  input: Input,
  refusal: PaymentRequiredError,
): Promise<string> {
  const [way] = refusal.offer.accepts
  if (way === undefined) throw refusal
  const value = BigInt(way.maxAmountRequired)
  if (value > BigInt(maxMicroUsdc(input))) {
    throw new UsageError(`the price is ${refusal.offer.priceUsdc} USDC, above --max-usdc`)
  }
  const key = session.walletKey()
  if (key?.kind !== 'evm') throw new UsageError('--pay needs the key of an EVM wallet (--key-file)')
  const validBefore = BigInt(Math.floor(session.clock.now() / 1000) + way.maxTimeoutSeconds)
  const fields = {
    from: (await signerOf(key)).wallet.toLowerCase(),
    to: way.payTo.toLowerCase(),
    value,
    validAfter: 0n,
    validBefore,
    nonce: `0x${bytesToHex(session.random.bytes(NONCE_BYTES))}`,
  }
  const signature = await signEvmHash(key.privateKey, transferDigest(fields))
  const authorization = textsOf(fields)
  const { scheme, network } = way
  const payment = { x402Version: 1, scheme, network, payload: { signature, authorization } }
  const text = Buffer.from(JSON.stringify(payment)).toString('base64')
  session.warn(
    `Paying ${refusal.offer.priceUsdc} USDC to ${way.payTo}. If no answer arrives, save this payment to a file and repeat with --payment-file:\n${text}\n`,
  )
  return text
}

/** @throws UsageError without a valid `--max-usdc` */
export function maxMicroUsdc(input: Input): number {
  const micro = parseUsdc(input.text('max-usdc') ?? '')
  if (micro === null) throw new UsageError('--pay needs --max-usdc <usdc>, such as 0.02')
  return micro
}
