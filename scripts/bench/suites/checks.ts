/** Checks of signatures on the thread of the service, against the usual libraries in JavaScript. */
import { verifyAsync } from '@noble/ed25519'
import { verifyMessage } from 'viem'

import type { SignatureCheck } from '../../../src/auth/check.ts'
import { hexData } from '../../../src/chain/values.ts'
import { ed25519Key, evmWallet } from '../../../test/support/wallets.ts'
import type { Sample, Suite } from '../bench.ts'
import { oneCheckThread, timed } from '../processes.ts'

const message = `A receipt: ${'x'.repeat(500)}`

export const checks: Suite = {
  about: 'checks of signatures on the thread of the service, against viem and @noble/ed25519',
  prepare: async ({ quick, running }) => {
    const { check, close } = oneCheckThread()
    await running(Promise.resolve({ stop: close }))
    const count = quick ? 500 : 3000
    const rate = async (checkOne: () => Promise<boolean>): Promise<Sample> => {
      const { result, ms } = await timed(() => Promise.all(Array.from({ length: count }, checkOne)))
      if (!result.every(Boolean)) throw new Error('invalid signature')
      return { perSecond: (count / ms) * 1000 }
    }
    const ours = (one: SignatureCheck) => async () => {
      const checkOne = async () => (await check(one)).valid
      // Starts the thread.
      await rate(checkOne)
      return await rate(checkOne)
    }
    const figures = (leastRatio: number) => ({ perSecond: { leastRatio } })
    const { id: address, sign } = evmWallet('bench')
    const signature = hexData.parse(await sign(message))
    const personal = { message, signature, address: hexData.parse(address) }
    const { base64, publicKey, sign: signEd25519 } = ed25519Key('bench')
    const inBase64 = signEd25519(message)
    const bytes = [Buffer.from(inBase64, 'base64'), Buffer.from(message), publicKey] as const
    return [
      {
        what: 'EIP-191',
        ours: ours({ scheme: 'eip191', ...personal }),
        peer: ['viem', () => rate(() => verifyMessage(personal))],
        figures: figures(9),
      },
      {
        what: 'Ed25519',
        ours: ours({ scheme: 'ed25519', message, signature: inBase64, publicKey: base64 }),
        peer: ['@noble/ed25519', () => rate(() => verifyAsync(...bytes))],
        figures: figures(10),
      },
    ]
  },
}
