/** Receipts that state no amount of the submitter: signed by a seller (x402), or a proof of payment (ERC-8004). */
import type { z } from 'zod'

import { receiptId } from '../auth/messages.ts'
import { ArtifactError, offerKind, readArtifact, receiptKind } from '../auth/offer-receipt.ts'
import { chainOfNetwork, chains, evmChainNames } from '../chain/chains.ts'
import type { EvmChainName } from '../chain/chains.ts'
import { ApiError } from '../contract/errors.ts'
import type { ChainReceiptBody } from '../contract/schemas/receipt.ts'
import { receiptOfSubmission } from '../core/canonical-json.ts'
import { maxAmountUsdc, microFromBaseUnits, microPerUsdc } from '../core/money.ts'
import { isoTime, secondMs } from '../core/time.ts'
import { walletOrNull } from '../core/wallet.ts'
import { toJsonText } from '../db/json.ts'
import { findReceipt } from '../db/receipts/receipts.ts'
import type { NewReceipt } from '../db/receipts/receipts.ts'
import type { ActionDeps } from './deps.ts'
import { newReceipt, requirePast, requireTransaction } from './receipt-draft.ts'
import type { StatedPayment } from './receipt-draft.ts'
import { requireRail } from './reference.ts'
import { requireAuthority } from './seller-authority.ts'
import { invalidField, requireWallet } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'

type ChainReceiptWrite = Pick<
  IncomingWrite<ChainReceiptBody>,
  'body' | 'json' | 'admission' | 'request'
>

type Stated = StatedPayment & Pick<NewReceipt, 'kind' | 'authority'>

/** Call it for proven submitters only, since it may send a request. @throws ApiError 400, 401, 403 or 422 */
export async function draftFromChain(
  deps: ActionDeps,
  write: ChainReceiptWrite,
): Promise<NewReceipt> {
  const { body, json, request } = write
  requireRail(deps.reference(), body.rail)
  const submitter = requireWallet(body.wallet, 'wallet')
  const receipt = receiptOfSubmission(json)
  const [id, content] = [receiptId(receipt), toJsonText(receipt)]
  // A repeat sends no request: the site may have dropped the key since.
  const stored = await findReceipt(deps.database.reader, id)
  if (stored?.toWallet === submitter.id) return { ...stored, content }
  const stated = 'offer_receipt' in body ? await readSeller(deps, write, body) : readProof(body)
  if (stated.payee.id !== submitter.id) {
    throw new ApiError(
      'forbidden',
      'Only its worker may submit this receipt: wallet must be payTo or toAddress',
    )
  }
  requireTransaction(stated)
  const { nowMs } = request
  const occurredAt = requirePast(stated.occurredAt, nowMs)
  const unsigned = { id, content, platform: null, publicKey: null }
  return newReceipt({ ...stated, ...unsigned, occurredAt }, body, { submitter, nowMs })
}

type SellerBody = Extract<ChainReceiptBody, { readonly offer_receipt: unknown }>
type ProofBody = Exclude<ChainReceiptBody, SellerBody>

function readProof({ proof_of_payment: proof, occurred_at: occurredAt }: ProofBody): Stated {
  return {
    kind: 'erc8004',
    chain: requireChain(`eip155:${proof.chainId}`),
    txHash: proof.txHash.toLowerCase(),
    payer: requireWallet(proof.fromAddress, 'proof_of_payment.fromAddress'),
    payee: requireWallet(proof.toAddress, 'proof_of_payment.toAddress'),
    occurredAt,
    amountMicroUsdc: 0,
    authority: null,
  }
}

async function readSeller(
  deps: ActionDeps,
  { admission }: ChainReceiptWrite,
  { offer_receipt: signed, wallet }: SellerBody,
): Promise<Stated> {
  const receipt = await readPart('receipt', receiptKind, signed.receipt)
  const offer = signed.offer === undefined ? null : await readPart('offer', offerKind, signed.offer)
  const { network, resourceUrl, issuedAt, payer, transaction = '' } = receipt.payload
  const chain = requireChain(network)
  const terms = offer?.payload
  if (transaction === '') {
    throw new ApiError('refused', 'The receipt names no transaction, so no chain can confirm it')
  }
  if (terms === undefined && receipt.isSignedBy !== null) {
    throw new ApiError('refused', 'A JWS must be sent with its offer, which names the paid wallet')
  }
  if (terms !== undefined && (terms.network !== network || terms.resourceUrl !== resourceUrl)) {
    throw new ApiError('refused', 'Offer and receipt are for different resources')
  }
  const payee = requireWallet(terms?.payTo ?? wallet, 'offer_receipt.offer: payTo')
  const artifacts = [receipt, ...(offer === null ? [] : [offer])] as const
  return {
    kind: 'x402',
    chain,
    txHash: transaction.toLowerCase(),
    payer: walletOrNull(payer),
    payee,
    occurredAt: isoTime(issuedAt * secondMs),
    amountMicroUsdc: terms === undefined ? 0 : requireOffered(chain, terms),
    authority: await requireAuthority(deps, admission, artifacts, { payee, resourceUrl }),
  }
}

async function readPart<Payload>(name: string, ...from: Parameters<typeof readArtifact<Payload>>) {
  return await readArtifact(...from).catch((error: unknown) => {
    if (!(error instanceof ArtifactError)) throw error
    throw invalidField(`offer_receipt.${name}`, error.message)
  })
}

function requireChain(network: string): EvmChainName {
  const chain = chainOfNetwork(network)
  if (chain !== null) return chain
  const known = evmChainNames.join(', ')
  throw new ApiError('refused', `The ledger records payments on ${known}, not on ${network}`)
}

type Terms = Pick<z.infer<typeof offerKind.schema>, 'asset' | 'scheme' | 'amount'>

function requireOffered(chain: EvmChainName, { asset, scheme, amount }: Terms): number {
  const { address, decimals } = chains[chain].usdc
  const isUsdc = asset.toLowerCase() === address && scheme === 'exact'
  const micro = isUsdc ? microFromBaseUnits(BigInt(amount), decimals) : null
  if (micro !== null && micro <= maxAmountUsdc * microPerUsdc) return micro
  const wanted = `an exact amount of USDC up to ${maxAmountUsdc}, the token ${address} on ${chain}`
  throw new ApiError('refused', `The offer is not for ${wanted}`)
}
