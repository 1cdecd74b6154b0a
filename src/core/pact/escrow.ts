/** PactEscrowV2 on Arbitrum One, decoded without a chain library for verifiers. */

export const pactEscrow = {
  chain: 'arbitrum',
  chainId: 42161,
  address: '0x220B97972d6028Acd70221890771E275e7734BFB',
  token: '0x809c2540358E2cF37050cCE41A610cb6CE66Abe1',
  firstBlock: 439_912_433,
} as const

/** In the order of the contract's enum. */
export const escrowStatuses = [
  'Active',
  'WorkSubmitted',
  'Completed',
  'Disputed',
  'Refunded',
  'Arbitrated',
] as const
export type EscrowStatus = (typeof escrowStatuses)[number]

/** Addresses in lower case, times in Unix milliseconds, amounts in base units of PACT. */
export interface EscrowPact {
  readonly creator: string
  readonly recipient: string
  readonly arbitrator: string
  readonly amount: string
  readonly deadlineMs: number
  readonly disputeWindowMs: number
  readonly workSubmittedAtMs: number | null
  readonly workHash: string | null
  readonly status: EscrowStatus
}

/** `getPact(uint256)` */
const getPactSelector = '0x3c7bc6b7'
const wordDigits = 64
const pactWords = 12
const maxTimeSeconds = 253_402_300_799n
const zeroAddress = `0x${'0'.repeat(40)}`
const zeroHash = `0x${'0'.repeat(wordDigits)}`

export function getPactCall(pactId: number): `0x${string}` {
  return `${getPactSelector}${pactId.toString(16).padStart(wordDigits, '0')}`
}

/** Null if the escrow returns zeros: it has no such pact. @throws RangeError for invalid bytes */
export function decodePact(answer: string): EscrowPact | null {
  const digits = answer.toLowerCase().replace(/^0x/, '')
  if (!/^[0-9a-f]*$/.test(digits) || digits.length !== pactWords * wordDigits) {
    throw new RangeError('the response of getPact is not twelve words')
  }
  const word = (at: number) => digits.slice(at * wordDigits, (at + 1) * wordDigits)
  const number = (at: number) => BigInt(`0x${word(at)}`)
  const status = escrowStatuses[Number(number(11))]
  if (status === undefined) throw new RangeError('the response of getPact has an unknown status')
  const creator = addressOf(word(0))
  if (creator === zeroAddress) return null
  const submitted = timeOf(number(8))
  const workHash = `0x${word(10)}`
  return {
    creator,
    recipient: addressOf(word(1)),
    arbitrator: addressOf(word(2)),
    amount: String(number(3)),
    deadlineMs: timeOf(number(5)),
    disputeWindowMs: timeOf(number(6)),
    workSubmittedAtMs: submitted === 0 ? null : submitted,
    workHash: workHash === zeroHash ? null : workHash,
    status,
  }
}

function addressOf(word: string): string {
  if (!word.startsWith('0'.repeat(24)))
    throw new RangeError('the response of getPact has no address')
  return `0x${word.slice(24)}`
}

function timeOf(seconds: bigint): number {
  return Number(seconds > maxTimeSeconds ? maxTimeSeconds : seconds) * 1000
}

const tokenDecimals = 18

export function pactAmount(baseUnits: string): string {
  const digits = baseUnits.padStart(tokenDecimals + 1, '0')
  const whole = digits.slice(0, -tokenDecimals)
  const fraction = digits.slice(-tokenDecimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
