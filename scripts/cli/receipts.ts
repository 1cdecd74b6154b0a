import { verifyReceipt } from '../../src/auth/verify-receipt.ts'
import { LedgerError, LedgerUnreachableError } from '../../src/client/errors.ts'
import { parseSignedReceipt, signReceipt } from '../../src/client/sign-receipt.ts'
import type { ReceiptFacts, SignedReceipt } from '../../src/client/sign-receipt.ts'
import { receiptDetail } from '../../src/contract/schemas/receipt.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { isoTime } from '../../src/core/time.ts'
import { flag, operand, option } from './command.ts'
import type { Arguments, Command } from './command.ts'
import { readJsonObject, writeNewFile } from './files.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { receiptInLog } from './log.ts'
import { printChecks } from './output.ts'
import { platformKeys } from './platforms.ts'
import type { Session } from './session.ts'

const optionalFacts = {
  from: { field: 'from_wallet', ...option('wallet', 'the payer') },
  chain: { field: 'chain', ...option('name', 'chain of the payment') },
  tx: { field: 'tx_hash', ...option('hash', 'transaction of the payment') },
  summary: { field: 'summary', ...option('text', 'one line about the work') },
  job: { field: 'job_id', ...option('id', 'the paid job, pact-<N> for pacts') },
  'evidence-url': { field: 'evidence_url', ...option('url', 'public evidence') },
}

const factOptions: Arguments = {
  rail: option('slug', 'rail of the payment'),
  amount: option('usdc', 'at most six decimals'),
  to: option('wallet', 'the worker (default: your own wallet)'),
  'occurred-at': option('RFC 3339', 'time of the payment (default: now)'),
  ...optionalFacts,
  platform: option('slug', 'issue as this platform instead of as the worker'),
  'receipt-key-file': option(
    'path',
    'ed25519 signing key (default: LEDGER_RECEIPT_KEY_FILE or LEDGER_RECEIPT_KEY, else the wallet key)',
  ),
  save: option('path', 'write the signed receipt to this new file'),
}

export const receiptCommands: readonly Command[] = [
  {
    words: 'receipt post',
    summary: 'Sign a receipt and submit it',
    args: { ...factOptions, file: option('path', 'submit this signed receipt instead') },
    groups: ['key', 'repeat', 'preview', 'ledger'],
    run: async (session, input) => {
      const client = await session.client('key')
      const file = input.text('file')
      const receipt =
        file === undefined
          ? await createReceipt(session, input)
          : parseSignedReceipt(readJsonObject(file))
      saveReceipt(receipt, input)
      const idempotencyKey = input.text('idempotency-key')
      const call = await client.prepare('submitReceipt', { body: receipt, idempotencyKey })
      await session.perform(call)
    },
  },
  {
    words: 'receipt sign',
    summary: 'Sign a receipt and print it for submission by others',
    args: {
      ...factOptions,
      'key-file': option('path', 'key of the worker, if --to is not given'),
    },
    run: async (session, input) => {
      const receipt = await createReceipt(session, input)
      saveReceipt(receipt, input)
      session.print(receipt, prettySorted(receipt))
    },
  },
  {
    words: 'receipt verify',
    summary: 'Verify the id and the signature of a receipt',
    description:
      'A file is verified offline. Platform keys come from --platforms, a file like data/platforms.json, or from the ledger.\nThe payment itself is not verified: see its chain.',
    args: {
      receipt: operand(
        'a file with a receipt or with an answer of GET /receipts/{id}, - for standard input, or the id of a receipt',
      ),
      platforms: option('path', 'registry of platform keys'),
      'exchange-key': option(
        'base64',
        'public key of the job exchange (default: requested from the ledger)',
      ),
      id: option('rcp_…', 'the expected id'),
      promise: option('path', 'with --log: file with `log.promise` of the answer that accepted it'),
      log: flag('also verify the proof that the log contains the receipt'),
    },
    groups: ['log', 'ledger'],
    run: async (session, input) => {
      const { receipt, id } = await findReceipt(session, input)
      const keys = new Map<string, string | readonly string[]>(
        platformKeys(input.text('platforms')),
      )
      const issuer = receipt['platform']
      const isPlatform = typeof issuer === 'string' && issuer !== EXCHANGE
      const isListed = isPlatform && (input.flag('log') || input.text('platforms') === undefined)
      const platforms = isListed ? await listedPlatforms(session, input) : []
      if (issuer === EXCHANGE) keys.set(EXCHANGE, await exchangeKeys(session, input))
      else if (isPlatform && !keys.has(issuer) && input.text('platforms') === undefined) {
        for (const one of platforms) keys.set(one.platform, one.public_key)
      }
      const { receiptId, kind, content, checks } = await verifyReceipt(receipt, keys, id)
      const logged = input.flag('log')
        ? await receiptInLog(session, input, { id: receiptId, content, platforms })
        : []
      return printChecks(session, { receipt_id: receiptId, kind }, [...checks, ...logged])
    },
  },
]

/** Returns none if the ledger does not answer: the signature is then reported as one by an unknown key. */
async function listedPlatforms(session: Session, input: Input) {
  try {
    return (await session.reader().call('listPlatforms')).platforms
  } catch (error) {
    const isAway = error instanceof LedgerError || error instanceof LedgerUnreachableError
    // With `--log`, a revoked key must not go unnoticed.
    if (isAway && !input.flag('log')) return []
    throw error
  }
}

async function createReceipt(session: Session, input: Input): Promise<SignedReceipt> {
  const key = session.receiptKey(input.text('receipt-key-file'))
  const optional = Object.entries(optionalFacts).flatMap(([name, { field }]) => {
    const text = input.text(name)
    return text === undefined ? [] : [[field, text] as const]
  })
  const facts: ReceiptFacts = {
    rail: requireText(input, 'rail'),
    amount_usdc: requireText(input, 'amount'),
    asset_symbol: 'USDC',
    to_wallet: input.text('to') ?? (await session.signer()).wallet,
    occurred_at: input.text('occurred-at') ?? isoTime(session.clock.now()),
    ...Object.fromEntries(optional),
  }
  return signReceipt(facts, key, input.text('platform'))
}

function requireText(input: Input, name: string): string {
  const value = input.text(name)
  if (value === undefined) throw new UsageError(`--${name} is required`)
  return value
}

function saveReceipt(receipt: object, input: Input): void {
  const path = input.text('save')
  if (path !== undefined) writeNewFile(path, prettySorted(receipt))
}

/** The job exchange issues receipts for accepted jobs under this slug. */
const EXCHANGE = 'job-exchange'

async function exchangeKeys(session: Session, input: Input): Promise<string | readonly string[]> {
  const given = input.text('exchange-key')
  if (given !== undefined) return given
  const { public_key: active, retired = [] } = (await session.reader().call('listJobs')).receipts_by
  return [active, ...retired.map(({ public_key: key }) => key)]
}

async function findReceipt(session: Session, input: Input) {
  const text = input.required('receipt')
  const expectedId = input.text('id') ?? null
  if (!/^rcp_[0-9a-f]{64}$/.test(text)) {
    const file = readJsonObject(text)
    const saved = receiptDetail.pick({ content: true, receipt_id: true }).safeParse(file).data
    if (saved === undefined) return { receipt: file, id: expectedId }
    return { receipt: saved.content, id: expectedId ?? saved.receipt_id }
  }
  const { content } = await session.reader().call('getReceipt', { params: { id: text } })
  return { receipt: content, id: expectedId ?? text }
}
