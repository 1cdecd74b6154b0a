/** The operator's commands. What they need is loaded when one is run: others have no use for a database. */
import type { Command, Operand, Option } from './command.ts'

const reason: Option = { value: 'text', doc: 'why, for those who come after', required: true }
const data: Option = {
  value: 'path',
  doc: 'directory of authored files; the package’s own unless given',
}
const proposal: Operand = { name: 'proposal', doc: 'id of the proposal' }
const handle: Operand = { name: 'handle', doc: 'the partner' }

const place = 'Works on DATA_DIR with the settings of the service, from the environment and .env.'

function admin(command: Omit<Command, 'kind'>): Command {
  const { words, description } = command
  return {
    ...command,
    kind: 'admin',
    words: `admin ${words}`,
    description: description === undefined ? place : `${description}\n${place}`,
  }
}

export const adminCommands: readonly Command[] = [
  admin({
    words: 'proposals list',
    summary: 'Skills that people proposed, oldest first',
    options: { status: { value: 'pending|accepted|rejected', doc: 'pending unless given' } },
    run: async (session, input) => (await import('./admin/triage.ts')).proposals(session, input),
  }),
  admin({
    words: 'proposals accept',
    summary: 'Take a proposed skill into the taxonomy, from the next build on',
    operands: [proposal],
    options: { reason: { value: 'text', doc: 'why, for those who come after' } },
    run: async (session, input) =>
      (await import('./admin/triage.ts')).decide(session, input, 'accepted'),
  }),
  admin({
    words: 'proposals reject',
    summary: 'Turn a proposed skill down',
    operands: [proposal],
    options: { reason },
    run: async (session, input) =>
      (await import('./admin/triage.ts')).decide(session, input, 'rejected'),
  }),
  admin({
    words: 'feedback list',
    summary: 'What people wrote, newest first',
    run: async (session) => (await import('./admin/triage.ts')).feedback(session),
  }),
  admin({
    words: 'flags list',
    summary: 'Open honesty flags with their ids',
    run: async (session) => (await import('./admin/flags.ts')).list(session),
  }),
  admin({
    words: 'flags open',
    summary: 'Open an honesty flag',
    options: {
      kind: { value: 'word', doc: 'kind of flag', required: true },
      severity: { value: 'info|warning|critical', doc: 'how grave', required: true },
      title: { value: 'text', doc: 'what readers see', required: true },
      rail: { value: 'slug', doc: 'the rail; the ledger itself unless given' },
      reason,
    },
    run: async (session, input) => (await import('./admin/flags.ts')).open(session, input),
  }),
  admin({
    words: 'flags close',
    summary: 'Close an honesty flag',
    operands: [{ name: 'flag', doc: 'id of the flag' }],
    options: { reason },
    run: async (session, input) => (await import('./admin/flags.ts')).close(session, input),
  }),
  admin({
    words: 'keys list',
    summary: 'Signing keys of the service, the active one first',
    run: async (session) => (await import('./admin/keys.ts')).list(session),
  }),
  admin({
    words: 'keys rotate',
    summary: 'Make a new signing key and retire the present one, which stays listed',
    run: async (session) => (await import('./admin/keys.ts')).rotate(session),
  }),
  admin({
    words: 'keys rotate-exchange',
    summary: 'Make a new key for the receipts of the job exchange; the present one stays listed',
    description:
      'What the old key has signed still verifies. A running service takes up the new one within seconds.',
    run: async (session) => (await import('./admin/keys.ts')).rotateExchange(session),
  }),
  admin({
    words: 'platforms list',
    summary: 'Platforms that may issue receipts',
    options: { data },
    run: async (session, input) => (await import('./admin/platforms.ts')).list(session, input),
  }),
  admin({
    words: 'platforms add',
    summary: 'Add a platform that has proved that it holds its key',
    description:
      'Without --proof it prints the text that the platform signs; with --proof and --challenged-at it adds the platform.',
    operands: [{ name: 'platform', doc: 'slug, never used before' }],
    options: {
      name: { value: 'text', doc: 'name that readers see', required: true },
      'public-key': { value: 'base64', doc: 'ed25519 public key, 32 bytes', required: true },
      rail: { value: 'slug', doc: 'a rail for which it may issue', many: true, required: true },
      'challenged-at': { value: 'RFC 3339', doc: 'the time in the text that was signed' },
      proof: { value: 'base64', doc: 'signature over that text' },
      data,
    },
    run: async (session, input) => (await import('./admin/platforms.ts')).add(session, input),
  }),
  admin({
    words: 'platforms revoke',
    summary: 'Take no more receipts of a platform; its entry stays',
    operands: [{ name: 'platform', doc: 'slug of the platform' }],
    options: { reason, data },
    run: async (session, input) => (await import('./admin/platforms.ts')).revoke(session, input),
  }),
  admin({
    words: 'partners list',
    summary: 'Partners with tier and state',
    run: async (session) => (await import('./admin/partners.ts')).list(session),
  }),
  admin({
    words: 'partners release-wallet',
    summary: 'Take the bound wallet off an attestation endpoint',
    description: 'The next signature by a wallet of the partner’s oath history binds it anew.',
    operands: [handle],
    options: { reason },
    run: async (session, input) =>
      (await import('./admin/partners.ts')).releaseWallet(session, input),
  }),
  admin({
    words: 'partners set-tier',
    summary: 'Give a partner a tier without a payment',
    operands: [handle, { name: 'tier', doc: 'free, starter, pro, team or enterprise' }],
    options: { days: { value: 'number', doc: 'for how long; 30 unless given' }, reason },
    run: async (session, input) => (await import('./admin/partners.ts')).setTier(session, input),
  }),
  admin({
    words: 'payments export',
    summary: 'Every payment for a read or a subscription, oldest first',
    options: { csv: { doc: 'as CSV with a header, safe to open in a spreadsheet' } },
    run: async (session, input) =>
      (await import('./admin/payments.ts')).exportPayments(session, input),
  }),
  admin({
    words: 'payments reconcile',
    summary: 'Hold every payment against the chain; exit code 1 where they differ',
    description:
      'Asks RPC_URL_BASE for every USDC that came to the receiver and looks for its row, and for the transfer of every settled row.',
    options: {
      'from-block': { value: 'number', doc: 'first block; that of the first row unless given' },
      'to-block': { value: 'number', doc: 'last block; the newest unless given' },
    },
    run: async (session, input) => (await import('./admin/payments.ts')).reconcile(session, input),
  }),
  admin({
    words: 'scores check',
    summary: 'Recompute every score from its entries; exit code 1 where one differs',
    run: async (session) => (await import('./admin/scores.ts')).check(session),
  }),
  admin({
    words: 'backup',
    summary: 'Copy the database while the service runs, with a manifest of hashes beside it',
    description:
      'Keys are not in it: keep a copy of DATA_DIR/keys and DATA_DIR/secrets in a safer place.',
    operands: [{ name: 'file', doc: 'where the copy goes; there must be no file yet' }],
    run: async (session, input) => (await import('./admin/backup.ts')).backup(session, input),
  }),
  admin({
    words: 'restore',
    summary: 'Put a backup in the place of the database, while no service runs',
    description:
      'The backup is examined first: hash, schema, integrity, references. The present file is kept under another name.\nAfterwards signed writes are refused for five minutes: one that was taken before may have been dated so far ahead, and the backup may not know of it.',
    operands: [{ name: 'file', doc: 'the backup, its manifest beside it' }],
    options: { damaged: { doc: 'the present file cannot be read, and no service runs' } },
    run: async (session, input) => (await import('./admin/restore.ts')).restore(session, input),
  }),
  admin({
    words: 'doctor',
    summary: 'Look at everything and say what to do; change nothing',
    description:
      'Database, scores, rows against documents, keys and secrets, the published set, the snapshot repository, disks, clock\nand jobs. Exit code 1 where something is to be done. It may run beside the service.',
    options: {
      'min-free': { value: 'MiB', doc: 'room that must be left on the disks; 512 unless given' },
    },
    run: async (session, input) => (await import('./admin/doctor.ts')).doctor(session, input),
  }),
]
