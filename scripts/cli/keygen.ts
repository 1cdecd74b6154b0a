import { z } from 'zod'

import { parseSecretKey, receiptKeyOf, secretKeyText, signerOf } from '../../src/client/signers.ts'
import { choice, operand } from './command.ts'
import type { Command } from './command.ts'
import { writeNewFile } from './files.ts'

const keyKind = z.enum(['evm', 'solana', 'near', 'ed25519'])

export const keygen: Command = {
  words: 'keygen',
  summary: 'Create a private key in a new file',
  description:
    'The file has mode 600; existing files are never overwritten. An ed25519 key signs receipts, for a worker or a platform;\nthe other kinds are wallets. Only public values are printed.',
  args: {
    file: operand('path of the new file'),
    kind: { ...choice(keyKind, 'kind of key'), isRequired: true },
  },
  run: async ({ random, print }, input) => {
    const kind = keyKind.parse(input.required('kind'))
    const text = secretKeyText(kind, random.bytes(32))
    const key = parseSecretKey(text)
    const shown =
      key.kind === 'ed25519'
        ? { kind, public_key: receiptKeyOf(key).publicKey }
        : { kind, wallet: (await signerOf(key)).wallet }
    const file = input.required('file')
    writeNewFile(file, `${JSON.stringify({ ...shown, private_key: text }, null, 2)}\n`, 0o600)
    print({ ...shown, file })
  },
}
