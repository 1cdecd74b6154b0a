/** New keys. */
import { parseSecretKey, receiptKeyOf, secretKeyText, signerOf } from '../../src/client/signers.ts'
import type { Command } from './command.ts'
import { writeNewFile } from './files.ts'
import { UsageError } from './input.ts'

const kinds = ['evm', 'solana', 'near', 'ed25519'] as const

export const keyCommands: readonly Command[] = [
  {
    words: 'keygen',
    summary: 'Make a new private key in a file of its own',
    description:
      'The file is readable by you alone and is never overwritten. ed25519 is a key for receipts or for a platform;\nthe other kinds are wallets. What is printed is public.',
    operands: [{ name: 'file', doc: 'where the key goes; there must be no file yet' }],
    options: { kind: { value: kinds.join('|'), doc: 'kind of key', required: true } },
    kind: 'local',
    run: async ({ random, print }, input) => {
      const kind = kinds.find((known) => known === input.needed('kind'))
      if (kind === undefined) throw new UsageError(`--kind is one of ${kinds.join(', ')}`)
      const text = secretKeyText(kind, random.bytes(32))
      const key = parseSecretKey(text)
      const shown =
        key.kind === 'ed25519'
          ? { kind, public_key: receiptKeyOf(key).publicKey }
          : { kind, wallet: (await signerOf(key)).wallet }
      const file = input.operand('file')
      writeNewFile(file, `${JSON.stringify({ ...shown, private_key: text }, null, 2)}\n`, 0o600)
      print({ ...shown, file })
    },
  },
]
