import { bytesWords, word } from '../core/abi.ts'
import { bytesToHex } from '../core/hex.ts'
import { TimeoutError, withTimeout } from '../outbound/timeout.ts'
import { personalSignHash, verifyPersonalSign } from './eip191.ts'
import { SchemeUnavailableError, invalid } from './verdict.ts'
import type { CheckedBlock, SignatureVerdict } from './verdict.ts'

/** The chain that a contract wallet lives on, as far as a check needs it. */
export interface WalletChain {
  /**
   * One JSON-RPC call: resolves to its result; rejects with the node's error (`code`, `message`) or
   * with any other error where no answer came. Must cap the size of answers.
   */
  readonly request: (
    method: string,
    params: readonly unknown[],
    signal: AbortSignal,
  ) => Promise<unknown>
  /** Resolves after the time, or rejects when the signal fires. */
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>
  /** Runs a whole check, or rejects where too many wait for the node already; at once unless told. */
  readonly bounded?: <T>(check: () => Promise<T>) => Promise<T>
}

export const CONTRACT_CHECK_TIMEOUT_MS = 2000
export const MAX_CONTRACT_SIGNATURE_BYTES = 8192

/**
 * Checks a personal signature by the rules of contract wallets, in the order that EIP-6492 fixes:
 * first the wrapped form of wallets that are not deployed yet, then EIP-1271 where there is code,
 * and the recovery of a plain key last. All reads are of one block, the newest when asked, which the
 * verdict names. Nothing is sent: `eth_call` has no effects. `address` is in lower case.
 *
 * viem's `verifyHash` is not used: it takes a node that does not answer for a bad signature.
 * @throws SchemeUnavailableError where the node fails or takes over 2 seconds in all.
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
    const reason = error instanceof TimeoutError ? 'did not answer in time' : 'cannot be asked now'
    throw new SchemeUnavailableError(`the chain of this wallet ${reason}`, { cause: error })
  }
}

interface Claim {
  readonly message: string
  readonly signature: string
  readonly address: string
}

type Request = (method: string, params: readonly unknown[]) => Promise<unknown>

/** The 32 bytes that end a signature of a wallet which is not deployed yet (EIP-6492). */
const WRAPPED_SUFFIX = '6492'.repeat(16)
/** EIP-1271: the selector of `isValidSignature(bytes32,bytes)`, and its answer for yes. */
const MAGIC = '1626ba7e'

async function checkInOrder(claim: Claim, request: Request): Promise<SignatureVerdict> {
  const checkedAt = await newestBlock(request)
  const block = `0x${checkedAt.blockNumber.toString(16)}`
  const hash = bytesToHex(personalSignHash(claim.message))
  if (claim.signature.endsWith(WRAPPED_SUFFIX)) {
    // A call without a recipient runs the validator as if it were being deployed, and answers what
    // it returns: one byte. It deploys the wallet for the length of the call, then asks it.
    // Loaded here, since few are asked for it: viem is a quarter of what a start would load.
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
    throw new SchemeUnavailableError('the node answered no code')
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
  throw new SchemeUnavailableError('the node answered no block')
}

function isQuantity(value: unknown): value is string {
  return typeof value === 'string' && /^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/.test(value)
}

/** What the call returns, or null where the contract reverts, which is a no and not an outage. */
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

/**
 * A JSON-RPC error 3 is a revert (geth and most others). Failures of other kinds, and reverts of
 * some nodes, come as -32000, -32015 or -32603 like outages: only their words tell which.
 */
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

/** ABI: the offset, length and padded bytes of the one dynamic argument after `headWords` words. */
function tail(headWords: number, signature: string): string {
  return word((headWords * 32).toString(16)) + bytesWords(signature)
}
