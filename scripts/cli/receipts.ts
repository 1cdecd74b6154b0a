/** Receipts: signed, sent in, checked. */
import { openReceipt } from '../../src/client/sealed.ts'
import { sealAsPlatform, sealAsWorker } from '../../src/client/sign.ts'
import type { ReceiptFacts, Sealed, SealedReceipt } from '../../src/client/sign.ts'
import { verifyReceipt } from '../../src/client/verify-receipt.ts'
import type { JsonObject } from '../../src/core/canonical-json.ts'
import { isoTime } from '../../src/core/time.ts'
import { printChecks } from './checks.ts'
import type { Command, Option } from './command.ts'
import { readJsonObject, writeNewFile } from './files.ts'
import { given } from './given.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { json } from './output.ts'
import { platformKeys } from './platforms.ts'
import type { Session } from './session.ts'

const factOptions: Readonly<Record<string, Option>> = {
  rail: { value: 'slug', doc: 'rail on which it was earned' },
  amount: { value: 'usdc', doc: 'at most six decimals' },
  to: { value: 'wallet', doc: 'the worker; your own wallet unless given' },
  from: { value: 'wallet', doc: 'the payer' },
  chain: { value: 'name', doc: 'chain of the payment' },
  tx: { value: 'hash', doc: 'transaction of the payment' },
  'occurred-at': { value: 'RFC 3339', doc: 'when it was paid; now unless given' },
  summary: { value: 'text', doc: 'one line on the work' },
  job: { value: 'id', doc: 'job that was paid, pact-<N> for pacts' },
  'evidence-url': { value: 'https url', doc: 'where a reader can look' },
  platform: { value: 'slug', doc: 'issue it as this platform instead of as the worker' },
  'receipt-key-file': {
    value: 'path',
    doc: 'ed25519 key that signs it; else LEDGER_RECEIPT_KEY_FILE or LEDGER_RECEIPT_KEY, else the wallet’s own',
  },
  save: { value: 'path', doc: 'keep the signed receipt in this new file' },
}

export const receiptCommands: readonly Command[] = [
  {
    words: 'receipt post',
    summary: 'Sign a receipt and send it in',
    options: {
      ...factOptions,
      file: {
        value: 'path',
        doc: 'send this signed receipt instead, such as one that a platform issued',
      },
    },
    kind: 'write',
    run: async (session, input) => {
      const client = await session.signing()
      const file = input.text('file')
      const sealed =
        file === undefined ? await seal(session, input) : openReceipt(readJsonObject(file))
      keep(sealed, input)
      const options = { idempotencyKey: input.text('idempotency-key') }
      await session.perform(await client.calls.submitReceipt(sealed, options))
    },
  },
  {
    words: 'receipt sign',
    summary: 'Sign a receipt and print it, for somebody else to send in',
    options: {
      ...factOptions,
      'key-file': {
        value: 'path',
        doc: 'file of the wallet’s private key, where --to is not given',
      },
    },
    kind: 'local',
    run: async (session, input) => {
      const sealed = await seal(session, input)
      keep(sealed, input)
      session.print(sealed.receipt, json(sealed.receipt))
    },
  },
  {
    words: 'receipt verify',
    summary: 'Check a receipt: its id, and the signature of its worker or platform',
    description:
      'A file is checked without a network. Keys of platforms come from --platforms, a file like data/platforms.json.\nWhether the money moved is for its chain to say.',
    operands: [{ name: 'receipt', doc: 'a file, - for standard input, or the id of a receipt' }],
    options: {
      platforms: { value: 'path', doc: 'registry of platform keys' },
      'exchange-key': {
        value: 'base64',
        doc: 'key of the job exchange; else asked of the ledger where its receipt is checked',
      },
      id: { value: 'rcp_…', doc: 'the id that the receipt is said to have' },
    },
    kind: 'read',
    run: async (session, input) => {
      const { receipt, id } = await findReceipt(session, input)
      const keys = new Map<string, string | readonly string[]>(
        platformKeys(input.text('platforms')),
      )
      if (receipt['platform'] === EXCHANGE) keys.set(EXCHANGE, await exchangeKeys(session, input))
      const verdict = await verifyReceipt(receipt, keys, id)
      return printChecks(
        session,
        { receipt_id: verdict.receiptId, kind: verdict.kind },
        verdict.checks,
      )
    },
  },
]

async function seal(session: Session, input: Input): Promise<Sealed<SealedReceipt>> {
  const key = session.receiptKey(input.text('receipt-key-file'))
  const facts: ReceiptFacts = {
    rail: demanded(input, 'rail'),
    amount_usdc: demanded(input, 'amount'),
    asset_symbol: 'USDC',
    to_wallet: input.text('to') ?? (await session.signer()).wallet,
    occurred_at: input.text('occurred-at') ?? isoTime(session.clock.now()),
    ...given({
      chain: input.text('chain'),
      tx_hash: input.text('tx'),
      from_wallet: input.text('from'),
      summary: input.text('summary'),
      job_id: input.text('job'),
      evidence_url: input.text('evidence-url'),
    }),
  }
  const platform = input.text('platform')
  return platform === undefined ? sealAsWorker(facts, key) : sealAsPlatform(facts, platform, key)
}

function demanded(input: Input, name: string): string {
  const value = input.text(name)
  if (value === undefined) throw new UsageError(`--${name} is needed`)
  return value
}

function keep({ receipt }: Sealed<SealedReceipt>, input: Input): void {
  const path = input.text('save')
  if (path !== undefined) writeNewFile(path, json(receipt))
}

/** The platform under which the ledger issues receipts for accepted jobs. */
const EXCHANGE = 'job-exchange'

/** The active one, and those before it. */
async function exchangeKeys(session: Session, input: Input): Promise<string | readonly string[]> {
  const given = input.text('exchange-key')
  if (given !== undefined) return given
  const { public_key: active, retired = [] } = (await session.reader().jobs()).receipts_by
  return [active, ...retired.map(({ public_key: key }) => key)]
}

/** With an id the content comes from the ledger, which keeps it as it was sent. */
async function findReceipt(
  session: Session,
  input: Input,
): Promise<{ readonly receipt: JsonObject; readonly id: string | null }> {
  const named = input.operand('receipt')
  const id = input.text('id') ?? null
  if (!/^rcp_[0-9a-f]{64}$/.test(named)) return { receipt: readJsonObject(named), id }
  const { content } = await session.reader().receipt(named)
  return { receipt: content, id: id ?? named }
}
