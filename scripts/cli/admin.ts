/**
 * Operator commands. Implementations in `admin/` are loaded on use, since the other commands need no database.
 */
import { z } from 'zod'

import { disputeState } from '../../src/contract/schemas/dispute-state.ts'
import { flagKind, severity } from '../../src/contract/schemas/flag.ts'
import { tierName } from '../../src/contract/schemas/partner.ts'
import type * as implementations from './admin/index.ts'
import { choice, flag, operand, option, requiredOption } from './command.ts'
import type { Arguments, Command } from './command.ts'

const reason = requiredOption('text', 'reason for the operator log')
const data = option('path', 'directory of authored files (default: the files of the package)')
const proposal = operand('id of the proposal')
const handle = operand('the partner')
const block = z.string().regex(/^(?:0|[1-9]\d{0,11})$/, 'must be a block number')
const days = z.string().regex(/^[1-9]\d{0,3}$/, 'must be a whole number of days')
const mebibytes = z.string().regex(/^\d{1,9}$/, 'must be a number of MiB')
const proposalStatus = z.enum(['pending', 'accepted', 'rejected'])

const dispute = operand('id of the dispute')
const decision = { dispute, reason: requiredOption('text', 'the reason, which is published') }

function admin(
  words: string,
  name: keyof typeof implementations,
  summary: string,
  args: Arguments = {},
  description?: string,
): Command {
  const scope = 'Uses DATA_DIR and the settings of the service, from the environment and .env.'
  return {
    words: `admin ${words}`,
    summary,
    description: description === undefined ? scope : `${description}\n${scope}`,
    args,
    run: async (session, input) => await (await import('./admin/index.ts'))[name](session, input),
  }
}

export const adminCommands: readonly Command[] = [
  admin('proposals list', 'listSkillProposals', 'List proposed skills, oldest first', {
    status: choice(proposalStatus, 'status (default: pending)'),
  }),
  admin(
    'proposals accept',
    'acceptProposal',
    'Add a proposed skill to the taxonomy with the next build',
    { proposal, reason: option('text', reason.doc) },
  ),
  admin('proposals reject', 'rejectProposal', 'Reject a proposed skill', { proposal, reason }),
  admin('feedback list', 'listMessages', 'List feedback, newest first'),
  admin('flags list', 'listFlags', 'List open honesty flags with their ids'),
  admin('flags open', 'openOperatorFlag', 'Open an honesty flag', {
    kind: requiredOption('kind', 'kind of flag', flagKind),
    severity: { ...choice(severity, 'severity of the flag'), isRequired: true },
    title: requiredOption('text', 'public title'),
    rail: option('slug', 'the rail (default: the ledger itself)'),
    reason,
  }),
  admin('flags close', 'closeOperatorFlag', 'Close an honesty flag', {
    flag: operand('id of the flag'),
    reason,
  }),
  admin('disputes list', 'listAllDisputes', 'List disputes, subjects and upheld ones first', {
    status: choice(disputeState, 'state (default: all)'),
    cursor: option('id', 'the last dispute of the previous page'),
  }),
  admin('disputes answer', 'answerDispute', 'Answer a dispute in public', {
    dispute,
    reason: requiredOption('text', 'the answer, which is published'),
  }),
  admin('disputes uphold', 'upholdDispute', 'Uphold a dispute', decision),
  admin('disputes reject', 'rejectDisputes', 'Reject a dispute, or all of a flood', {
    ...decision,
    dispute: operand('id of a dispute; or a wallet, rail or target: all with the standing anyone'),
  }),
  admin('disputes withhold', 'withholdDispute', 'Withhold the words of a disputer', decision),
  admin('keys list', 'listKeys', 'List the signing keys of the service, the active one first'),
  admin(
    'keys create',
    'createKeys',
    'Create the missing keys and secrets of a new ledger in DATA_DIR/keys and DATA_DIR/secrets',
    {},
    'Run it once before the first start with KEYS=required, and copy the files to every replica.',
  ),
  admin(
    'keys rotate',
    'rotateSigningKey',
    'Create a new signing key and retire the current one, which remains listed',
  ),
  admin(
    'keys rotate-exchange',
    'rotateExchange',
    'Create a new key for receipts of the job exchange; the current one remains listed',
    {},
    'Receipts signed with the old key remain valid. A running service uses the new key within seconds.',
  ),
  admin('platforms list', 'listPlatforms', 'List platforms that may issue receipts', { data }),
  admin(
    'platforms add',
    'addPlatform',
    'Add a platform after proof of its key',
    {
      platform: operand('slug, never used before'),
      name: requiredOption('text', 'public name'),
      'public-key': requiredOption('base64', 'ed25519 public key, 32 bytes'),
      rail: {
        ...requiredOption('slug', 'rail for which it may issue receipts'),
        isRepeatable: true,
      },
      'challenged-at': option('RFC 3339', 'the time in the signed text'),
      proof: option('base64', 'signature over that text'),
      data,
    },
    'Without --proof, prints the text that the platform must sign; with --proof and --challenged-at, adds the platform.',
  ),
  admin(
    'platforms revoke',
    'revokePlatform',
    'Refuse further receipts of a platform; its entry remains',
    { platform: operand('slug of the platform'), reason, data },
  ),
  admin('partners list', 'listAllPartners', 'List partners with tier and status'),
  admin(
    'partners release-wallet',
    'releaseWallet',
    'Unbind the wallet from the attestation endpoint of a partner',
    { handle, reason },
    'The next signature by a wallet of the partner’s oath history binds it again.',
  ),
  admin(
    'partners set-tier',
    'setTier',
    'Give a partner a tier without a payment',
    {
      handle,
      tier: operand(tierName.options.join(', '), tierName),
      days: option('number', 'number of days (default: 30)', days),
      reason,
    },
    'Extends time of the same tier; converts paid time of another tier at its price. Granted time is worth nothing in another tier.',
  ),
  admin(
    'payments export',
    'exportPayments',
    'Print every payment for a read or a subscription, oldest first',
    { csv: flag('as CSV with a header, safe to open in a spreadsheet') },
  ),
  admin(
    'payments reconcile',
    'reconcile',
    'Compare every payment with the chain; exit code 1 on differences',
    {
      'from-block': option('number', 'first block (default: the block of the first row)', block),
      'to-block': option('number', 'last block (default: the newest)', block),
    },
    'Reads all USDC transfers to the receiver from RPC_URL_BASE and matches them with the payment rows.',
  ),
  admin(
    'payments assign',
    'assignHeldPayment',
    'Name the partner that may use a payment in state reconcile',
    { payment: operand('id of the payment'), handle, reason },
    'Demand a message that is signed by the key of the payer and names the partner, since anyone can copy the payment from the chain. The partner then repeats its request with the same payment.',
  ),
  admin(
    'scores check',
    'checkScores',
    'Recompute every score from its entries; exit code 1 on differences',
  ),
  admin(
    'backup',
    'backUp',
    'Copy the database while the service runs, with a manifest of hashes next to it',
    { file: operand('path of the copy, a new file') },
    'Also keep the files listed in `keep_too` of the output: the keys, in a safer place, and the newest copy of the published log.',
  ),
  admin(
    'restore',
    'restore',
    'Replace the database with a backup, while no service runs',
    {
      file: operand('the backup, with its manifest next to it'),
      damaged: flag('confirm that the current file is unreadable and no service runs'),
    },
    'Verifies the backup first: hash, schema, integrity, references. Keeps the current file under another name.\nSigned writes are then refused for five minutes, to prevent replays of writes from before the restore.',
  ),
  admin(
    'restored',
    'markRestored',
    'Record that PostgreSQL was restored from a backup, before any service starts',
    {},
    'Signed writes are then refused for five minutes, to prevent replays of writes from before the restore.',
  ),
  admin(
    'log accept',
    'acceptLog',
    'Let the log continue from its end in the database, without the published log',
    {
      origin: operand('name of the log, as in /log/vkey'),
      size: operand('number of entries in the database', block),
      reason,
    },
    'If readers or witnesses have seen more entries, the log forks permanently.',
  ),
  admin(
    'log drop',
    'dropFromQueue',
    'Drop queued entries that contradict a logged entry, and list them',
    { reason },
    'The logged entries stay. The current content of the database gets no proof, so promises for it are never kept.',
  ),
  admin(
    'doctor',
    'runDoctor',
    'Check the installation and recommend fixes; changes nothing',
    { 'min-free': option('MiB', 'required free disk space (default: 512)', mebibytes) },
    'Checks database, scores, rows against documents, keys and secrets, the published set, the snapshot repository, disks,\nclock and jobs. Exit code 1 if a check fails. The service may be running.',
  ),
]
