/**
 * `npm run example:pay`: an agent buys one answer, offline. Starts a local chain with the code of USDC and the service
 * with `SETTLEMENT=local`; then the published x402 client pays for the ranking with a new key.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { formatUnits } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'

import { hexData } from '../src/chain/values.ts'
import { arbitrage } from '../src/contract/schemas/arbitrage.ts'
import { startLedger } from '../test/support/server-process.ts'
import { startUsdcChain } from '../test/support/usdc-chain.ts'
import { chainAccount, localSettlement } from '../test/support/x402-payment.ts'

const ROWS_SHOWN = 5

const say = (text: string) => void process.stdout.write(`${text}\n`)
const show = (value: unknown) => say(JSON.stringify(value, null, 2))
const usdc = (micro: bigint) => `${formatUnits(micro, 6)} USDC`
/** The content of an x402 header without the long `extensions`, which only catalogues use. */
function decoded(header: string | null): unknown {
  const text = Buffer.from(header ?? '', 'base64').toString('utf8')
  const { extensions: _, ...rest } = z.looseObject({}).parse(JSON.parse(text))
  return rest
}

const folder = mkdtempSync(join(tmpdir(), 'ledger-example-'))
const chain = await startUsdcChain()
try {
  // The settler pays for gas and never holds USDC; the receiver is only an address.
  const settlement = localSettlement(folder, chain.url)
  const { PAYMENT_RECEIVER: receiver } = settlement
  await chain.fund(chainAccount('settler').address)
  const payer = privateKeyToAccount(generatePrivateKey())
  await chain.mint(payer.address, 1_000_000n)

  say(`# Starting the ledger, which is paid at ${receiver} and reads the chain at ${chain.url}`)
  const ledger = await startLedger(folder, {
    env: { ...settlement, BUILDER: 'embedded' },
    readyPath: '/api/v1/rails',
  })
  const { origin } = ledger
  try {
    await buy(`${origin}/api/v1/arbitrage`)
  } finally {
    await ledger.stop()
  }

  async function buy(url: string): Promise<void> {
    say(`\n# Without a payment, GET ${url} answers`)
    const unpaid = await fetch(url)
    say(`HTTP ${unpaid.status}, and in PAYMENT-REQUIRED:`)
    show(decoded(unpaid.headers.get('PAYMENT-REQUIRED')))

    say(
      `\n# ${payer.address}, with ${usdc(await chain.balanceOf(payer.address))}, requests and pays`,
    )
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    const seen: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      const payment = request.headers.get('PAYMENT-SIGNATURE')
      if (payment !== null) {
        say('PAYMENT-SIGNATURE:')
        show(decoded(payment))
      }
      return await fetch(request)
    }
    const paid = await wrapFetchWithPayment(seen, client)(url)
    if (paid.status !== 200) throw new Error(`HTTP ${paid.status}: ${await paid.text()}`)
    say(`HTTP ${paid.status}, and in PAYMENT-RESPONSE:`)
    const settlement = decodePaymentResponseHeader(paid.headers.get('PAYMENT-RESPONSE') ?? '')
    show(settlement)

    const hash = hexData.parse(settlement.transaction)
    const { status, blockNumber } = await chain.client.getTransactionReceipt({ hash })
    say(`\n# On the chain: ${status} in block ${blockNumber}`)
    say(`payer has ${usdc(await chain.balanceOf(payer.address))}`)
    say(`receiver has ${usdc(await chain.balanceOf(receiver))}`)

    const { ranking, computed_at: computedAt } = arbitrage.parse(await paid.json())
    say(`\n# What was bought: ${ranking.length} rails as of ${computedAt}, the first ${ROWS_SHOWN}`)
    for (const row of ranking.slice(0, ROWS_SHOWN)) {
      const { expected_usd_per_day_per_creator: usdPerDay } = row
      const figure = usdPerDay === null ? 'unknown' : `${usdPerDay} USD a day per creator`
      say(`${row.display_name}: ${figure}, confidence ${row.confidence}`)
    }
  }
} finally {
  await chain.stop()
  rmSync(folder, { recursive: true, force: true })
}
