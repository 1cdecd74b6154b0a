import { getContractAddress, serializeErc6492Signature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import {
  MAX_CONTRACT_SIGNATURE_BYTES,
  verifyContractSignature,
} from '../../src/auth/contract-wallet.ts'
import type { WalletChain } from '../../src/auth/contract-wallet.ts'
import { verifySignature } from '../../src/auth/schemes.ts'
import { SchemeUnavailableError } from '../../src/auth/verdict.ts'
import { chains } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import { createEvmNode, createServiceNode } from '../../src/chain/node.ts'
import type { EvmNode } from '../../src/chain/node.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { startAnvilNode } from '../support/anvil.ts'
import type { AnvilNode } from '../support/anvil.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts anvil')

const owner = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const stranger = privateKeyToAccount(`0x${'22'.repeat(32)}`)
const message = 'agent-income-ledger-partner-auth-v1:1767225600:POST:/api/v1/jobs'

// The deterministic deployer that anvil has from the start: 32 bytes of salt, then the init code.
const factory = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

const chainWith = (call: EvmNode['call'], clock: WalletChain['clock'] = systemClock) => ({
  node: createEvmNode('base', call),
  clock,
})

let node: AnvilNode
let chain: WalletChain

beforeAll(async () => {
  node = await startAnvilNode(chains.base.chainId)
  const deps = { fetch, clock: systemClock, random: systemRandom }
  chain = { node: createServiceNode(node.url, deps), clock: systemClock }
})

afterAll(() => node.stop())

const isValid = async (
  signature: string,
  address: string,
  { text = message, on = chain } = {},
): Promise<boolean> => (await verifyContractSignature(text, signature, address, on)).valid

describe('verifyContractSignature on a chain', () => {
  test('verifyContractSignature accepts the owner only and names the block', async () => {
    const wallet = await deploy(walletOf(owner.address), 1)
    const latest = await node.rpc('eth_getBlockByNumber', ['latest', false])
    const { number, hash } = z.object({ number: z.string(), hash: z.string() }).parse(latest)

    const signature = await owner.signMessage({ message })
    expect(await verifyContractSignature(message, signature, wallet, chain)).toEqual({
      valid: true,
      checkedAt: { blockNumber: BigInt(number), blockHash: hash },
    })
    expect(await isValid(signature, wallet, { text: `${message}.` })).toBe(false)
    const foreign = await stranger.signMessage({ message })
    expect(await isValid(foreign, wallet)).toBe(false)
  })

  test('verifyContractSignature refuses an owner who was replaced', async () => {
    const wallet = await deploy(walletOf(owner.address), 2)
    const signature = await owner.signMessage({ message })
    expect(await isValid(signature, wallet)).toBe(true)
    await node.rpc('anvil_setStorageAt', [wallet, `0x${'0'.repeat(64)}`, word(stranger.address)])
    await node.rpc('evm_mine', [])
    expect(await isValid(signature, wallet)).toBe(false)
  })

  test('an address with code never falls back to its plain key', async () => {
    // Code at the address of a plain key, as EIP-7702 puts it there: the wallet's code decides.
    const address = owner.address.toLowerCase()
    await node.rpc('anvil_setCode', [address, refusesAll])
    const signature = await owner.signMessage({ message })
    expect(await isValid(signature, address)).toBe(false)
    await node.rpc('anvil_setCode', [address, '0x'])
  })

  test.each([
    ['reverts', '0x60006000fd'],
    ['runs into an invalid opcode', '0xfe'],
    ['burns all gas', '0x5b600056'],
    ['answers nothing', '0x00'],
    ['answers one byte short', '0x631626ba7e60e01b600052601f6000f3'],
    ['answers two words', '0x631626ba7e60e01b60005260406000f3'],
    ['answers the magic at the wrong end', '0x631626ba7e60005260206000f3'],
    ['answers true', '0x600160005260206000f3'],
  ])('refuses a contract wallet whose code %s', async (_, code) => {
    const wallet = '0x00000000000000000000000000000000000c0de5'
    await node.rpc('anvil_setCode', [wallet, code])
    const signature = await owner.signMessage({ message })
    const verdict = await verifyContractSignature(message, signature, wallet, chain)
    expect(verdict).toHaveProperty('valid', false)
    expect(verdict).toHaveProperty('reason', expect.stringMatching(/contract wallet/))
  })
})

describe('a signature of an undeployed wallet (EIP-6492)', () => {
  async function wrapped(
    salt: number,
    inner: `0x${string}`,
  ): Promise<readonly [string, `0x${string}`]> {
    const data: `0x${string}` = `${word(salt.toString(16))}${walletOf(owner.address).slice(2)}`
    const signature = serializeErc6492Signature({ address: factory, data, signature: inner })
    return [addressOf(walletOf(owner.address), salt), signature]
  }

  test('an EIP-6492 signature is accepted by the future code, and the wallet stays undeployed', async () => {
    const [wallet, signature] = await wrapped(100, await owner.signMessage({ message }))
    expect(await isValid(signature, wallet)).toBe(true)
    expect(await node.rpc('eth_getCode', [wallet, 'latest'])).toBe('0x')
  })

  test('an EIP-6492 signature is refused for another owner, message or address, or if the factory fails', async () => {
    const [wallet, signature] = await wrapped(101, await owner.signMessage({ message }))
    const [, foreign] = await wrapped(101, await stranger.signMessage({ message }))
    const elsewhere = addressOf(walletOf(owner.address), 102)
    const broken = serializeErc6492Signature({
      address: '0x00000000000000000000000000000000000000ff',
      data: '0x1234',
      signature: await owner.signMessage({ message }),
    })
    for (const [text, from, address] of [
      [message, foreign, wallet],
      [`${message}.`, signature, wallet],
      [message, signature, elsewhere],
      [message, broken, wallet],
      [message, `0x${'6492'.repeat(16)}`, wallet],
    ] as const) {
      expect(await isValid(from, address, { text })).toBe(false)
    }
  })

  test('an EIP-6492 signature is still accepted after the deployment', async () => {
    const [wallet, signature] = await wrapped(103, await owner.signMessage({ message }))
    expect(await deploy(walletOf(owner.address), 103)).toBe(wallet)
    expect(await isValid(signature, wallet)).toBe(true)
  })
})

test('a plain key is recovered last and in strict form only', async () => {
  const signature = await owner.signMessage({ message })
  const address = owner.address.toLowerCase()
  expect(await isValid(signature, address)).toBe(true)
  const loose = signature.slice(0, -2) + (signature.endsWith('1b') ? '00' : '01')
  expect(await isValid(loose, address)).toBe(false)
})

describe('a malformed signature of a contract wallet', () => {
  const silent = chainWith(() => {
    throw new Error('the chain was called')
  })
  test.each([
    ['empty', ''],
    ['a prefix alone', '0x'],
    ['half a byte', '0x123'],
    ['upper case', '0xAB'],
    ['over 8 KiB', `0x${'00'.repeat(MAX_CONTRACT_SIGNATURE_BYTES + 1)}`],
  ])('a signature that is %s is refused without a call to the chain', async (_, signature) => {
    expect(await isValid(signature, `0x${'1'.repeat(40)}`, { on: silent })).toBe(false)
  })
})

describe('verifyContractSignature on a failing node', () => {
  const wallet = `0x${'12'.repeat(20)}`
  const block = { number: '0x10', hash: `0x${'ab'.repeat(32)}`, timestamp: '0x1' }
  const failing = (answers: Readonly<Record<string, () => unknown>>) =>
    chainWith(async (method) => answers[method]?.())
  const refuse = (code: number | undefined, message: string) => () => {
    const refusal = code === undefined ? {} : { refusal: { code, message } }
    throw new ChainError(message, 'refused', refusal)
  }
  const healthy: Readonly<Record<string, () => unknown>> = {
    eth_chainId: () => '0x2105',
    eth_getBlockByNumber: () => block,
    eth_getCode: () => '0x6000',
  }

  test.each([
    ['no connection', { ...healthy, eth_getBlockByNumber: refuse(undefined, 'fetch failed') }],
    ['no block', { ...healthy, eth_getBlockByNumber: () => null }],
    ['no hash', { ...healthy, eth_getBlockByNumber: () => ({ ...block, hash: undefined }) }],
    ['no number', { ...healthy, eth_getBlockByNumber: () => ({ ...block, number: '16' }) }],
    ['a padded number', { ...healthy, eth_getBlockByNumber: () => ({ ...block, number: '0x01' }) }],
    ['another chain', { ...healthy, eth_chainId: () => '0x1' }],
    ['no code', { ...healthy, eth_getCode: () => null }],
    ['a limit', { ...healthy, eth_call: refuse(-32005, 'request limit exceeded') }],
    ['an internal error', { ...healthy, eth_call: refuse(-32603, 'internal error') }],
    ['a missing block', { ...healthy, eth_call: refuse(-32000, 'header not found') }],
    ['a time-out of the node', { ...healthy, eth_call: refuse(-32000, 'aborted (timeout = 5s)') }],
    ['no JSON-RPC error', { ...healthy, eth_call: refuse(undefined, 'reverted to HTTP/1.1') }],
  ])('throws SchemeUnavailableError for a node with %s', async (_, answers) => {
    const verdict = verifyContractSignature(message, '0x12', wallet, failing(answers))
    await expect(verdict).rejects.toThrow(SchemeUnavailableError)
  })

  test.each([
    ['a revert by its code', { ...healthy, eth_call: refuse(3, 'anything') }],
    ['a revert by its words', { ...healthy, eth_call: refuse(-32000, 'execution reverted') }],
    ['a failed execution', { ...healthy, eth_call: refuse(-32015, 'VM execution error.') }],
    ['a wrong magic', { ...healthy, eth_call: () => `0xdeadbeef${'0'.repeat(56)}` }],
    ['a longer magic', { ...healthy, eth_call: () => `0x1626ba7e${'0'.repeat(58)}` }],
    ['1 MiB', { ...healthy, eth_call: () => `0x1626ba7e${'0'.repeat(2 ** 21)}` }],
    ['no text', { ...healthy, eth_call: () => null }],
  ])('refuses a contract signature for which the node answers %s', async (_, answers) => {
    const verdict = await verifyContractSignature(message, '0x12', wallet, failing(answers))
    expect(verdict.valid).toBe(false)
  })

  test('throws SchemeUnavailableError after 2 seconds without a response, and aborts the request', async () => {
    const seen: number[] = []
    let signal: AbortSignal | undefined
    const stalled = chainWith(
      (_method, _params, given) => {
        signal = given
        return new Promise(() => {})
      },
      {
        sleep: (delayMs) => {
          seen.push(delayMs)
          return Promise.resolve()
        },
      },
    )
    const verdict = verifyContractSignature(message, '0x12', wallet, stalled)
    await expect(verdict).rejects.toThrow(/in time/)
    expect(seen).toEqual([2000])
    expect(signal?.aborted).toBe(true)
  })
})

describe('verifySignature', () => {
  const down = chainWith(() => Promise.reject(new Error('down')))

  test('accepts a plain wallet while the chain is down', async () => {
    const signature = await owner.signMessage({ message })
    const wallet = parseWallet(owner.address)
    const verdict = await verifySignature({ message, signature, wallet, chain: down })
    expect(verdict).toEqual({ valid: true })
  })

  test('verifySignature throws while the chain is down if the signature is of another key', async () => {
    const signature = await stranger.signMessage({ message })
    const wallet = parseWallet(owner.address)
    const unknown = verifySignature({ message, signature, wallet, chain: down })
    await expect(unknown).rejects.toThrow(SchemeUnavailableError)
  })

  test('accepts a contract wallet only where its chain is set', async () => {
    const wallet = parseWallet(await deploy(walletOf(owner.address), 4))
    const signature = await owner.signMessage({ message })
    expect((await verifySignature({ message, signature, wallet, chain })).valid).toBe(true)
    expect((await verifySignature({ message, signature, wallet })).valid).toBe(false)
  })
})

const refusesAll = '0x63ffffffff60e01b60005260206000f3'

/**
 * Init code of a wallet that keeps its owner in slot 0 and answers EIP-1271 by `ecrecover`:
 * hash, v, r and s from the call go to memory, the precompile at 1 answers the signer, and the
 * magic comes back where it is the owner.
 */
function walletOf(ownerAddress: string): `0x${string}` {
  const load = '60043560005260a43560f81c602052606435604052608435606052'
  const recover = '602060806080600060015afa50'
  const compare = '60805160005414'
  const no = '63ffffffff60e01b60005260206000f3'
  const yes = '5b631626ba7e60e01b60005260206000f3'
  const before = load + recover + compare
  const target = before.length / 2 + 3 + no.length / 2
  const runtime = `${before}60${target.toString(16)}57${no}${yes}`
  const length = (runtime.length / 2).toString(16).padStart(2, '0')
  const store = `73${ownerAddress.slice(2).toLowerCase()}600055`
  const start = (store.length / 2 + 12).toString(16)
  return `0x${store}60${length}60${start}60003960${length}6000f3${runtime}`
}

function addressOf(initCode: `0x${string}`, salt: number): string {
  const address = getContractAddress({
    opcode: 'CREATE2',
    from: factory,
    salt: word(salt.toString(16)),
    bytecode: initCode,
  })
  return address.toLowerCase()
}

async function deploy(initCode: `0x${string}`, salt: number): Promise<string> {
  const [from] = z.array(z.string()).parse(await node.rpc('eth_accounts', []))
  const data = word(salt.toString(16)) + initCode.slice(2)
  await node.rpc('eth_sendTransaction', [{ from, to: factory, data }])
  await node.rpc('evm_mine', [])
  const wallet = addressOf(initCode, salt)
  expect(await node.rpc('eth_getCode', [wallet, 'latest'])).not.toBe('0x')
  return wallet
}

function word(hex: string): `0x${string}` {
  return `0x${hex.replace(/^0x/, '').padStart(64, '0')}`
}
