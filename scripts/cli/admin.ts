/** The operator's commands. They are implemented in `admin/`, loaded on use: other commands need no database. */
import { z } from 'zod'

import { flagKind, severity } from '../../src/contract/schemas/flag.ts'
import { tierName } from '../../src/contract/schemas/partner.ts'
import type * as implementations from './admin/index.ts'
import { outputOptions } from './command.ts'
import type { Command, Operand, Option, Options } from './command.ts'

const reason: Option = { value: 'text', doc: 'reason for the operator log', required: true }
const data: Option = {
  value: 'path',
  doc: 'directory of authored files (default: the files of the package)',
}
const proposal: Operand = { name: 'proposal', doc: 'id of the proposal' }
const handle: Operand = { name: 'handle', doc: 'the partner' }
const block = z.string().regex(/^(?:0|[1-9]\d{0,11})$/, 'must be a block number')

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
  const scope = 'Uses DATA_DIR and the settings of the service, from the environment and .env.'
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
      status: choice(z.enum(['pending', 'accepted', 'rejected']), 'status (default: pending)'),
    },
  }),
  admin(
    'proposals accept',
    'Add a proposed skill to the taxonomy with the next build',
    'acceptProposal',
    {
      operands: [proposal],
      options: { reason: { value: 'text', doc: 'reason for the operator log' } },
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
      title: { value: 'text', doc: 'public title', required: true },
      rail: { value: 'slug', doc: 'the rail (default: the ledger itself)' },
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
    'Create a new signing key and retire the current one, which remains listed',
    'rotateSigningKey',
  ),
  admin(
    'keys rotate-exchange',
    'Create a new key for receipts of the job exchange; the current one remains listed',
    'rotateExchange',
    {
      description:
        'Receipts signed with the old key remain valid. A running service uses the new key within seconds.',
    },
  ),
  admin('platforms list', 'List platforms that may issue receipts', 'listPlatforms', {
    options: { data },
  }),
  admin('platforms add', 'Add a platform after proof of its key', 'addPlatform', {
    description:
      'Without --proof, prints the text that the platform must sign; with --proof and --challenged-at, adds the platform.',
    operands: [{ name: 'platform', doc: 'slug, never used before' }],
    options: {
      name: { value: 'text', doc: 'public name', required: true },
      'public-key': { value: 'base64', doc: 'ed25519 public key, 32 bytes', required: true },
      rail: {
        value: 'slug',
        doc: 'rail for which it may issue receipts',
        many: true,
        required: true,
      },
      'challenged-at': { value: 'RFC 3339', doc: 'the time in the signed text' },
      proof: { value: 'base64', doc: 'signature over that text' },
      data,
    },
  }),
  admin(
    'platforms revoke',
    'Refuse further receipts of a platform; its entry remains',
    'revokePlatform',
    { operands: [{ name: 'platform', doc: 'slug of the platform' }], options: { reason, data } },
  ),
  admin('partners list', 'List partners with tier and status', 'listAllPartners'),
  admin(
    'partners release-wallet',
    'Unbind the wallet from the attestation endpoint of a partner',
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
        doc: 'number of days (default: 30)',
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
    'Compare every payment with the chain; exit code 1 on differences',
    'reconcile',
    {
      description:
        'Reads all USDC transfers to the receiver from RPC_URL_BASE and matches them with the payment rows.',
      options: {
        'from-block': {
          value: 'number',
          doc: 'first block (default: the block of the first row)',
          schema: block,
        },
        'to-block': { value: 'number', doc: 'last block (default: the newest)', schema: block },
      },
    },
  ),
  admin(
    'scores check',
    'Recompute every score from its entries; exit code 1 on differences',
    'checkScores',
  ),
  admin(
    'backup',
    'Copy the database while the service runs, with a manifest of hashes beside it',
    'backUp',
    {
      description:
        'The copy contains no keys: back up DATA_DIR/keys and DATA_DIR/secrets separately, in a safer place.',
      operands: [{ name: 'file', doc: 'path of the copy, a new file' }],
    },
  ),
  admin('restore', 'Replace the database with a backup, while no service runs', 'restore', {
    description:
      'Verifies the backup first: hash, schema, integrity, references. Keeps the current file under another name.\nSigned writes are then refused for five minutes, to prevent replays of writes from before the restore.',
    operands: [{ name: 'file', doc: 'the backup, with its manifest beside it' }],
    options: {
      damaged: { doc: 'confirm that the current file is unreadable and no service runs' },
    },
  }),
  admin('doctor', 'Check the installation and recommend fixes; changes nothing', 'runDoctor', {
    description:
      'Checks database, scores, rows against documents, keys and secrets, the published set, the snapshot repository, disks,\nclock and jobs. Exit code 1 if a check fails. The service may be running.',
    options: {
      'min-free': {
        value: 'MiB',
        doc: 'required free disk space (default: 512)',
        schema: z.string().regex(/^\d{1,9}$/, 'must be a number of MiB'),
      },
    },
  }),
]
