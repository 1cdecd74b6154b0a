import { verifyMessage } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { bench, describe } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { verifyPersonalSign } from '../../src/auth/eip191.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'

// npx vitest bench -c test/vitest.config.ts --run test/auth
const account = privateKeyToAccount(`0x${'44'.repeat(32)}`)
const id = account.address.toLowerCase()
const message = 'agent-income-ledger-partner-auth-v1:1767225600:POST:/api/v1/jobs'
const signature = await account.signMessage({ message })
const other = `${message}.`

describe('personal signatures', () => {
  bench('here', async () => {
    await verifyPersonalSign(message, signature, id)
  })
  bench('viem', async () => {
    await verifyMessage({ address: account.address, message, signature })
  })
})

describe('ed25519', () => {
  const key = signingKeyFromSeed(Buffer.alloc(32, 7))
  const signed = signBytes(key, Buffer.from(message))
  bench('a good signature', async () => {
    verifyEd25519(message, signed, key.publicKey)
  })
  bench('a bad signature', async () => {
    verifyEd25519(other, signed, key.publicKey)
  })
})
