import { bytesWords, word } from '../core/abi.ts'
import { bytesToHex } from '../core/hex.ts'
import { outageText, withTimeout } from '../outbound/timeout.ts'
import { personalSignHash, verifyPersonalSign } from './eip191.ts'
import { SchemeUnavailableError, invalid } from './verdict.ts'
import type { CheckedBlock, SignatureVerdict } from './verdict.ts'

export interface WalletChain {
  /** Rejects with the error of the node (`code`, `message`), or with any other error if the node does not respond. */
  readonly request: (
    method: string,
    params: readonly unknown[],
    signal: AbortSignal,
  ) => Promise<unknown>
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>
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

async function checkInTime(claim: Claim, chain: WalletChain): Promise<SignatureVerdict> {
  const limit = { timeoutMs: CONTRACT_CHECK_TIMEOUT_MS, clock: chain }
  try {
    return await withTimeout(limit, (signal) =>
      checkInOrder(claim, (method, params) => chain.request(method, params, signal)),
    )
  } catch (error) {
    if (error instanceof SchemeUnavailableError) throw error
    throw new SchemeUnavailableError(`the chain of this wallet ${outageText(error)}`, {
      cause: error,
    })
  }
}

interface Claim {
  readonly message: string
  readonly signature: string
  readonly address: string
}

type Request = (method: string, params: readonly unknown[]) => Promise<unknown>

/** Marks signatures of undeployed wallets (EIP-6492). */
const WRAPPED_SUFFIX = '6492'.repeat(16)
/** EIP-1271: selector of `isValidSignature(bytes32,bytes)` and its result for a valid signature. */
const MAGIC = '1626ba7e'

async function checkInOrder(claim: Claim, request: Request): Promise<SignatureVerdict> {
  const checkedAt = await newestBlock(request)
  const block = `0x${checkedAt.blockNumber.toString(16)}`
  const hash = bytesToHex(personalSignHash(claim.message))
  if (claim.signature.endsWith(WRAPPED_SUFFIX)) {
    // A call without a recipient is a deployment. It deploys the wallet during the call and returns one byte.
    const { erc6492SignatureValidatorByteCode } = await import('viem')
    const data =
      erc6492SignatureValidatorByteCode +
      word(claim.address.slice(2)) +
      hash +
      tail(3, claim.signature)
    const answer = await call(request, { data }, block)
    return answer === '0x01' ? { valid: true, checkedAt } : refused()
  }
  const code = await request('eth_getCode', [claim.address, block])
  if (typeof code !== 'string' || !/^0x[0-9a-f]*$/i.test(code)) {
    throw new SchemeUnavailableError('the node returned no code')
  }
  if (code !== '0x') {
    const data = `0x${MAGIC}${hash}${tail(2, claim.signature)}`
    const answer = await call(request, { to: claim.address, data }, block)
    return answer === `0x${MAGIC.padEnd(64, '0')}` ? { valid: true, checkedAt } : refused()
  }
  const verdict = await verifyPersonalSign(claim.message, claim.signature, claim.address)
  return verdict.valid ? { valid: true, checkedAt } : verdict
}

function refused(): SignatureVerdict {
  return invalid('the contract wallet does not accept this signature for the expected message')
}

async function newestBlock(request: Request): Promise<CheckedBlock> {
  const block = await request('eth_getBlockByNumber', ['latest', false])
  if (typeof block === 'object' && block !== null && 'number' in block && 'hash' in block) {
    const { number, hash } = block
    if (isQuantity(number) && typeof hash === 'string' && /^0x[0-9a-f]{64}$/.test(hash)) {
      return { blockNumber: BigInt(number), blockHash: hash }
    }
  }
  throw new SchemeUnavailableError('the node returned no block')
}

function isQuantity(value: unknown): value is string {
  return typeof value === 'string' && /^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/.test(value)
}

async function call(
  request: Request,
  transaction: Readonly<Record<string, string>>,
  block: string,
): Promise<unknown> {
  try {
    return await request('eth_call', [transaction, block])
  } catch (error) {
    if (isRevert(error)) return null
    throw error
  }
}

/** Error 3 is a revert; some nodes report -32000, -32015 or -32603 with a message. */
function isRevert(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  if ('code' in error && error.code === 3) return true
  const message = 'message' in error && typeof error.message === 'string' ? error.message : ''
  const isNodesAnswer = 'code' in error && typeof error.code === 'number'
  return (
    isNodesAnswer &&
    /revert|opcode|invalid ?jump|out ?of ?gas|stack ?(?:under|over)flow/i.test(message)
  )
}

function tail(headWords: number, signature: string): string {
  return word((headWords * 32).toString(16)) + bytesWords(signature)
}
