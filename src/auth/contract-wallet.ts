import { ChainError, chainOutageText } from '../chain/errors.ts'
import { readHeader } from '../chain/node.ts'
import type { EvmNode } from '../chain/node.ts'
import { hexData, parseResult, toHex } from '../chain/values.ts'
import { bytesWords, word } from '../core/abi.ts'
import type { Clock } from '../core/deps.ts'
import { bytesToHex } from '../core/hex.ts'
import { withTimeout } from '../outbound/timeout.ts'
import { personalSignHash, verifyPersonalSign } from './eip191.ts'
import { SchemeUnavailableError, invalid } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface WalletChain {
  readonly node: EvmNode
  readonly clock: Pick<Clock, 'sleep'>
  readonly bounded?: <T>(check: () => Promise<T>) => Promise<T>
}

export const CONTRACT_CHECK_TIMEOUT_MS = 2000
export const MAX_CONTRACT_SIGNATURE_BYTES = 8192

/**
 * Follows the order of EIP-6492: wrapped signatures, then EIP-1271 if the address has code, then recovery of a plain
 * key. All reads use the newest block. viem's `verifyHash` is not used: it reports a failing node as a bad signature.
 * @param address lower case
 * @throws SchemeUnavailableError if the node fails or needs over 2 seconds in total
 */
export async function verifyContractSignature(
  message: string,
  signature: string,
  address: string,
  chain: WalletChain,
): Promise<SignatureVerdict> {
  if (!/^0x(?:[0-9a-f]{2})+$/.test(signature)) {
    return invalid('a signature of a contract wallet is 0x and lower-case hex')
  }
  if (signature.length > 2 + 2 * MAX_CONTRACT_SIGNATURE_BYTES) {
    return invalid(`a signature has at most ${MAX_CONTRACT_SIGNATURE_BYTES} bytes`)
  }
  const { bounded = runAtOnce } = chain
  return await bounded(() => checkInTime({ message, signature, address }, chain))
}

const runAtOnce: NonNullable<WalletChain['bounded']> = (check) => check()

async function checkInTime(claim: Claim, { node, clock }: WalletChain): Promise<SignatureVerdict> {
  try {
    return await withTimeout({ timeoutMs: CONTRACT_CHECK_TIMEOUT_MS, clock }, (signal) => {
      const call: EvmNode['call'] = (method, params) => node.call(method, params, signal)
      return checkInOrder(claim, { ...node, call })
    })
  } catch (error) {
    throw new SchemeUnavailableError(`the chain of this wallet ${chainOutageText(error)}`, {
      cause: error,
    })
  }
}

interface Claim {
  readonly message: string
  readonly signature: string
  readonly address: string
}

/** Marks signatures of undeployed wallets (EIP-6492). */
const WRAPPED_SUFFIX = '6492'.repeat(16)
/** EIP-1271: selector of `isValidSignature(bytes32,bytes)` and its result for a valid signature. */
const MAGIC = '1626ba7e'

async function checkInOrder(claim: Claim, node: EvmNode): Promise<SignatureVerdict> {
  const { message, signature, address } = claim
  const head = await readHeader(node, 'latest')
  const block = toHex(head.number)
  const valid = {
    valid: true,
    checkedAt: { blockNumber: BigInt(head.number), blockHash: head.hash },
  } as const
  const hash = personalSignHash(message)
  if (signature.endsWith(WRAPPED_SUFFIX)) {
    // A call without a recipient is a deployment. It deploys the wallet during the call and returns one byte.
    const { erc6492SignatureValidatorByteCode } = await import('viem')
    const claimed = word(address.slice(2)) + bytesToHex(hash)
    const data = erc6492SignatureValidatorByteCode + claimed + word('60') + bytesWords(signature)
    return (await callOrNull(node, { data }, block)) === '0x01' ? valid : refused()
  }
  const code = await node.call('eth_getCode', [address, block])
  if (parseResult(node.name, hexData, code, 'code') !== '0x') {
    return (await acceptsSignature(node, { to: address, hash, signature }, block))
      ? valid
      : refused()
  }
  const verdict = await verifyPersonalSign(message, signature, address)
  return verdict.valid ? valid : verdict
}

function refused(): SignatureVerdict {
  return invalid('the contract wallet does not accept this signature for the expected message')
}

/** Returns the answer of a contract wallet (EIP-1271), false if the call reverts. @throws ChainError */
export async function acceptsSignature(
  node: EvmNode,
  claim: { readonly to: string; readonly hash: Uint8Array; readonly signature: string },
  block: string,
  limit: { readonly gas?: string } = {},
): Promise<boolean> {
  const { to, hash, signature } = claim
  const data = `0x${MAGIC}${bytesToHex(hash)}${word('40')}${bytesWords(signature)}`
  return (await callOrNull(node, { to, data, ...limit }, block)) === `0x${MAGIC.padEnd(64, '0')}`
}

/** Null if the call reverts. */
async function callOrNull(
  node: EvmNode,
  transaction: Readonly<Record<string, string>>,
  block: string,
): Promise<unknown> {
  try {
    return await node.call('eth_call', [transaction, block])
  } catch (error) {
    if (error instanceof ChainError && isRevert(error)) return null
    throw error
  }
}

/** Error 3 is a revert and -32015 any failed execution; some nodes report -32000 or -32603 with a message. */
function isRevert({ refusal }: ChainError): boolean {
  if (refusal === null) return false
  const words =
    /revert|opcode|invalid ?jump|out ?of ?(?:gas|bounds)|intrinsic gas|stack ?(?:limit|under|over)/i
  return [3, -32_015].includes(refusal.code) || words.test(refusal.message)
}
