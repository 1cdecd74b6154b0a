import { keccak_256 as keccak256 } from '@noble/hashes/sha3'

import { bytesWords, transferTopic, word } from '../core/abi.ts'
import { bytesToHex, hexToBytes } from '../core/hex.ts'
import type { Authorization } from './authorization.ts'

/** `TransferWithAuthorization(address from,…,bytes32 nonce)`, hashed (`EIP3009.sol` of the token). */
const TYPE_HASH = '7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267'
/** EIP-712 domain separator of USDC on Base, as `DOMAIN_SEPARATOR()` returns it. */
const DOMAIN_SEPARATOR = '02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f'
/** Selectors of `transferWithAuthorization` (with `bytes` as signature) and `authorizationState`. */
const TRANSFER_SELECTOR = 'cf092995'
const STATE_SELECTOR = 'e94a0102'

/** A transfer logs `authorizationUsed` and directly after it `transfer`. */
export const topics = {
  authorizationUsed: '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
  authorizationCanceled: '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81',
  transfer: transferTopic,
} as const

type Fields = Omit<Authorization, 'signature'>

export function transferDigest(authorization: Fields): Uint8Array {
  const struct = keccak256(bytesOf(TYPE_HASH + fieldWords(authorization)))
  return keccak256(bytesOf(`1901${DOMAIN_SEPARATOR}${bytesToHex(struct)}`))
}

/** The overload with `bytes signature` accepts keys and contract wallets. */
export function transferCall(authorization: Authorization): string {
  const offset = word((7 * 32).toString(16))
  return `0x${TRANSFER_SELECTOR}${fieldWords(authorization)}${offset}${bytesWords(authorization.signature)}`
}

export function stateCall({ from, nonce }: Pick<Fields, 'from' | 'nonce'>): string {
  return `0x${STATE_SELECTOR}${word(from.slice(2))}${nonce.slice(2)}`
}

function fieldWords({ from, to, value, validAfter, validBefore, nonce }: Fields): string {
  const numbers = [value, validAfter, validBefore].map((number) => word(number.toString(16)))
  return word(from.slice(2)) + word(to.slice(2)) + numbers.join('') + nonce.slice(2)
}

function bytesOf(hex: string): Uint8Array {
  const bytes = hexToBytes(hex)
  if (bytes === null) throw new TypeError('not lower-case hex')
  return bytes
}
