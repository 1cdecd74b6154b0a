/** The operator's commands. They are implemented in `admin/`, loaded on use: other commands need no database. */
import { z } from 'zod'

import { flagKind, severity } from '../../src/contract/schemas/flag.ts'
import { tierName } from '../../src/contract/schemas/partner.ts'
import type * as implementations from './admin/index.ts'
import { outputOptions } from './command.ts'
import type { Command, Operand, Option, Options } from './command.ts'

const reason: Option = { value: 'text', doc: 'why, for the operator’s log', required: true }
const data: Option = {
  value: 'path',
  doc: 'directory of authored files; the package’s own unless given',
}
const proposal: Operand = { name: 'proposal', doc: 'id of the proposal' }
const handle: Operand = { name: 'handle', doc: 'the partner' }
const block = z.string().regex(/^(?:0|[1-9]\d{0,11})$/, 'must be the number of a block')

function choice(schema: z.ZodEnum, doc: string): Option {
  return { value: schema.options.join('|'), doc, schema }
}

interface AdminCommand {
  readonly description?: string
  readonly operands?: readonly Operand[]
  readonly options?: Options
}

function admin(
  words: string,
  summary: string,
  name: keyof typeof implementations,
  { description, operands = [], options }: AdminCommand = {},
): Command {
  const scope = 'Works on DATA_DIR with the settings of the service, from the environment and .env.'
  return {
    words: `admin ${words}`,
    summary,
    description: description === undefined ? scope : `${description}\n${scope}`,
    operands,
    options: { ...options, ...outputOptions },
    run: async (session, input) => await (await import('./admin/index.ts'))[name](session, input),
  }
}

export const adminCommands: readonly Command[] = [
  admin('proposals list', 'List proposed skills, oldest first', 'listSkillProposals', {
    options: {
      status: choice(z.enum(['pending', 'accepted', 'rejected']), 'pending unless given'),
    },
  }),
  admin(
    'proposals accept',
    'Add a proposed skill to the taxonomy, from the next build on',
    'acceptProposal',
    {
      operands: [proposal],
      options: { reason: { value: 'text', doc: 'why, for the operator’s log' } },
    },
  ),
  admin('proposals reject', 'Reject a proposed skill', 'rejectProposal', {
    operands: [proposal],
    options: { reason },
  }),
  admin('feedback list', 'List feedback, newest first', 'listMessages'),
  admin('flags list', 'List open honesty flags with their ids', 'listFlags'),
  admin('flags open', 'Open an honesty flag', 'openOperatorFlag', {
    options: {
      kind: { ...choice(flagKind, 'kind of flag'), value: 'kind', required: true },
      severity: { ...choice(severity, 'severity of the flag'), required: true },
      title: { value: 'text', doc: 'the title that readers see', required: true },
      rail: { value: 'slug', doc: 'the rail; the ledger itself unless given' },
      reason,
    },
  }),
  admin('flags close', 'Close an honesty flag', 'closeOperatorFlag', {
    operands: [{ name: 'flag', doc: 'id of the flag' }],
    options: { reason },
  }),
  admin('keys list', 'List the signing keys of the service, the active one first', 'listKeys'),
  admin(
    'keys rotate',
    'Make a new signing key and retire the current one, which stays listed',
    'rotateSigningKey',
  ),
  admin(
    'keys rotate-exchange',
    'Make a new key for the receipts of the job exchange; the current one stays listed',
    'rotateExchange',
    {
      description:
        'Receipts signed by the old key still verify. A running service uses the new key within seconds.',
    },
  ),
  admin('platforms list', 'List platforms that may issue receipts', 'listPlatforms', {
    options: { data },
  }),
  admin('platforms add', 'Add a platform that has proved that it holds its key', 'addPlatform', {
    description:
      'Without --proof it prints the text that the platform signs; with --proof and --challenged-at it adds the platform.',
    operands: [{ name: 'platform', doc: 'slug, never used before' }],
    options: {
      name: { value: 'text', doc: 'the name that readers see', required: true },
      'public-key': { value: 'base64', doc: 'ed25519 public key, 32 bytes', required: true },
      rail: { value: 'slug', doc: 'a rail that it may issue for', many: true, required: true },
      'challenged-at': { value: 'RFC 3339', doc: 'the time in the text that was signed' },
      proof: { value: 'base64', doc: 'signature over that text' },
      data,
    },
  }),
  admin(
    'platforms revoke',
    'Refuse further receipts of a platform; its entry stays',
    'revokePlatform',
    { operands: [{ name: 'platform', doc: 'slug of the platform' }], options: { reason, data } },
  ),
  admin('partners list', 'List partners with tier and status', 'listAllPartners'),
  admin(
    'partners release-wallet',
    'Unbind the wallet of an attestation endpoint',
    'releaseWallet',
    {
      description: 'The next signature by a wallet of the partner’s oath history binds it again.',
      operands: [handle],
      options: { reason },
    },
  ),
  admin('partners set-tier', 'Give a partner a tier without a payment', 'setTier', {
    operands: [handle, { name: 'tier', doc: tierName.options.join(', '), schema: tierName }],
    options: {
      days: {
        value: 'number',
        doc: 'for how long; 30 unless given',
        schema: z.string().regex(/^[1-9]\d{0,3}$/, 'must be a whole number of days'),
      },
      reason,
    },
  }),
  admin(
    'payments export',
    'Print every payment for a read or a subscription, oldest first',
    'exportPayments',
    { options: { csv: { doc: 'as CSV with a header, safe to open in a spreadsheet' } } },
  ),
  admin(
    'payments reconcile',
    'Compare every payment with the chain; exit code 1 where they differ',
    'reconcile',
    {
      description:
        'Reads every USDC transfer to the receiver from RPC_URL_BASE and looks for its row, and for the transfer of every settled row.',
      options: {
        'from-block': {
          value: 'number',
          doc: 'first block; that of the first row unless given',
          schema: block,
        },
        'to-block': { value: 'number', doc: 'last block; the newest unless given', schema: block },
      },
    },
  ),
  admin(
    'scores check',
    'Recompute every score from its entries; exit code 1 where one differs',
    'checkScores',
  ),
  admin(
    'backup',
    'Copy the database while the service runs, with a manifest of hashes beside it',
    'backUp',
    {
      description:
        'Keys are not in it: keep a copy of DATA_DIR/keys and DATA_DIR/secrets in a safer place.',
      operands: [{ name: 'file', doc: 'path of the copy, a new file' }],
    },
  ),
  admin('restore', 'Replace the database by a backup, while no service runs', 'restore', {
    description:
      'The backup is checked first: hash, schema, integrity, references. The current file is kept under another name.\nAfterwards signed writes are refused for five minutes, so that none from before the restore can be repeated.',
    operands: [{ name: 'file', doc: 'the backup, its manifest beside it' }],
    options: { damaged: { doc: 'the current file cannot be read, and no service runs' } },
  }),
  admin('doctor', 'Check everything and say what to do; change nothing', 'runDoctor', {
    description:
      'Checks database, scores, rows against documents, keys and secrets, the published set, the snapshot repository, disks,\nclock and jobs. Exit code 1 where there is something to do. It may run beside the service.',
    options: {
      'min-free': {
        value: 'MiB',
        doc: 'space that must be free on the disks; 512 unless given',
        schema: z.string().regex(/^\d{1,9}$/, 'must be a number of MiB'),
      },
    },
  }),
]
