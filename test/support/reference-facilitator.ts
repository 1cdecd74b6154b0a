/** The reference facilitator of the x402 project on a local chain, directly and over HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createNonceManager, createWalletClient, http, publicActions } from 'viem'
import type { VerifyTypedDataParameters } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { jsonRpc } from 'viem/nonce'
import { z } from 'zod'

import { startLocalServer } from './local-server.ts'
import type { LocalServer } from './local-server.ts'
import { receiptOf } from './usdc-chain.ts'
import { chainKey } from './x402-payment.ts'

/** The wallet needs the coin of the chain for gas. */
export function referenceFacilitator(rpcUrl: string, wallet = 'facilitator'): x402Facilitator {
  // Not the nonce manager of viem, which is shared and remembers nonces from before a restored snapshot.
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(chainKey(wallet), { nonceManager })
  const client = createWalletClient({
    account,
    chain: base,
    transport: http(rpcUrl, { retryCount: 0 }),
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    readContract: async (args) => await client.readContract(args),
    // The types of viem tie the message to its type definitions; here both are data.
    verifyTypedData: async (args: object) => await client.verifyTypedData(typedData.parse(args)),
    writeContract: async ({ gas, dataSuffix, ...args }) =>
      await client.writeContract({
        ...args,
        ...(gas === undefined ? {} : { gas }),
        ...(dataSuffix === undefined ? {} : { dataSuffix }),
      }),
    sendTransaction: async (args) => await client.sendTransaction(args),
    waitForTransactionReceipt: async ({ hash }) => await receiptOf(client, hash),
    getCode: async (args) => await client.getCode(args),
  })
  return registerExactEvmScheme(new x402Facilitator(), { signer, networks: 'eip155:8453' })
}

const typedData = z.custom<VerifyTypedDataParameters>((value) => typeof value === 'object')
export const facilitatorCall = z.object({
  x402Version: z.number(),
  paymentPayload: z.custom<PaymentPayload>((value) => typeof value === 'object'),
  paymentRequirements: z.custom<PaymentRequirements>((value) => typeof value === 'object'),
})

type FacilitatorPath = '/verify' | '/settle' | '/supported'

export interface HttpFacilitator extends LocalServer {
  readonly calls: readonly string[]
  /** The payments of these calls. */
  readonly payments: readonly PaymentPayload[]
  /** Replaces the answers of later calls. */
  readonly behave: (behaviour: FacilitatorBehaviour) => void
}

/** Returns another answer, undefined for the true answer, or `lost` for a call that takes effect and gets no answer. */
type FacilitatorBehaviour = (
  path: FacilitatorPath,
  truth: object,
) => { readonly status?: number; readonly body: unknown } | 'lost' | undefined

/** `POST /verify`, `POST /settle` and `GET /supported` (x402 specification v2, section 7). */
export async function serveFacilitator(facilitator: x402Facilitator): Promise<HttpFacilitator> {
  const calls: string[] = []
  const payments: PaymentPayload[] = []
  let behaviour: FacilitatorBehaviour = () => undefined

  async function truthOf(path: FacilitatorPath, incoming: IncomingMessage): Promise<object> {
    if (path === '/supported') return facilitator.getSupported()
    const text = Buffer.concat(await incoming.toArray()).toString()
    const { paymentPayload, paymentRequirements } = facilitatorCall.parse(JSON.parse(text))
    payments.push(paymentPayload)
    return path === '/verify'
      ? await facilitator.verify(paymentPayload, paymentRequirements)
      : await facilitator.settle(paymentPayload, paymentRequirements)
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathSchema.parse(incoming.url)
    calls.push(path)
    const truth = await truthOf(path, incoming)
    const changed = behaviour(path, truth)
    if (changed === 'lost') {
      response.destroy()
      return
    }
    response.writeHead(changed?.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(changed === undefined ? truth : changed.body))
  }

  const server = await startLocalServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: String(error) }))
    })
  })
  return {
    ...server,
    calls,
    payments,
    behave: (next) => {
      behaviour = next
    },
  }
}

const pathSchema = z.enum(['/verify', '/settle', '/supported'])
