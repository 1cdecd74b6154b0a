/** Commands about the log, and the checks of the log by other commands. */
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'

import { sha256Hex } from '../../src/auth/messages.ts'
import { logOverHttp } from '../../src/client/client.ts'
import { createLogAudit } from '../../src/client/log-audit.ts'
import { revocationChecks } from '../../src/client/log-subject.ts'
import {
  InconsistentLogError,
  LogError,
  createLogReader,
  failedCheck,
  findLast,
} from '../../src/client/log.ts'
import type { ExpectedEntry, LogReader, LogTree } from '../../src/client/log.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { readIfFound, sendGet } from '../../src/client/transport.ts'
import { apiPrefix } from '../../src/contract/route.ts'
import type { ListedPlatform } from '../../src/contract/schemas/platform.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import type { JsonObject } from '../../src/core/canonical-json.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { minuteMs } from '../../src/core/time.ts'
import { parseEntry } from '../../src/core/tlog/entry.ts'
import { tileWidth } from '../../src/core/tlog/tiles.ts'
import { minutes, option } from './command.ts'
import type { Command } from './command.ts'
import { fileExists, readBytes } from './files.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { createLogComparison } from './log-comparison.ts'
import { printChecks } from './output.ts'
import type { PublishedSet } from './published-set.ts'
import { servedRows } from './served-rows.ts'
import type { Session } from './session.ts'

/** After this many possible repetitions the audit reads the log again, which bounds its memory. */
const mostDoubts = 65_536

export const logVerify: Command = {
  words: 'log verify',
  summary: 'Verify the log, and with --ledger that it covers what the ledger serves',
  description:
    'With --ledger, each row of the published lists must have its entry, and each entry its row. With --state the log must also continue the checkpoint that the last run saw. If it does not, both signed checkpoints are printed as proof.',
  args: {
    'max-age': option('minutes', 'maximum age of the newest entry (default: 1500)', minutes),
    archive: option('path', 'a clone of the git archive, which must contain each logged commit'),
  },
  groups: ['log', 'ledger'],
  run: async (session, input) => {
    const archive = input.text('archive')
    const served = () => servedRows(session, archive)
    // A copy may be older than the lists.
    const isCompared = input.text('ledger') !== undefined && input.text('log-url') === undefined
    if (archive !== undefined && !isCompared)
      throw new UsageError('--archive needs --ledger, and cannot be used with --log-url')
    const checks = await logChecks(session, input, async (log, note) => {
      const comparison = createLogComparison(session.random.bytes(32), session.clock.now())
      // Before the checkpoint, which must cover them.
      if (isCompared) for await (const row of served()) comparison.serve(row)
      const tree = await log.check()
      for (const one of tree.checks) note(one)
      // These options collect garbage earlier, which saves 70 MB but takes longer.
      setFlagsFromString('--optimize-for-size')
      setFlagsFromString('--semi-space-growth-factor=1')
      const audit = createLogAudit(session.random.bytes(32))
      let size = 0
      async function read({ entriesOf, size: end }: LogTree) {
        // One at a time: waiting tiles would be kept for longer and need 50 MB more.
        while (size < end) {
          const at = Math.floor(size / tileWidth)
          for (const bytes of (await entriesOf(at)).slice(size - at * tileWidth)) {
            const entry = audit.add(bytes)
            if (isCompared) comparison.add(entry, size)
            size += 1
          }
          await audit.settle(entriesOf, mostDoubts)
        }
        await audit.settle(entriesOf)
      }
      await read(tree)
      if (comparison.hasUnlogged()) {
        // The entry of a new row may have no index yet.
        await session.clock.sleep(minuteMs)
        await read(await log.check())
      }
      note(check('tiles', true, 'all of them lead to the root of the checkpoint'))
      const rules =
        'canonical, times never decrease, versions increase, ids are unique, chains are complete'
      note(check('entries', true, `${size}: ${rules}`))
      if (size > 0) note(newestEntry(session, input, audit.at()))
      for (const one of await comparison.finish(served)) note(one)
    })
    return printChecks(session, {}, checks)
  },
}

/** The builder publishes a set at least once a day, which is an entry. */
function newestEntry({ clock }: Session, input: Input, at: string | null): Check {
  const age = Math.floor((clock.now() - Date.parse(at ?? '')) / minuteMs)
  const maxMinutes = Number(input.text('max-age') ?? 1500)
  return check('newest entry', age <= maxMinutes, `is from ${at}, ${age} minutes ago`)
}

/** Runs checks until one fails. If the log has forked, prints both signed checkpoints. */
export async function logChecks(
  session: Session,
  input: Input,
  work: (log: LogReader, note: (one: Check) => void) => Promise<void>,
): Promise<readonly Check[]> {
  const checks: Check[] = []
  try {
    await work(await openLog(session, input), (one) => checks.push(one))
  } catch (error) {
    if (error instanceof InconsistentLogError) session.warn(error.notes.join('\n'))
    checks.push(failedCheck(error))
  }
  return checks
}

async function openLog(session: Session, input: Input): Promise<LogReader> {
  const url = input.text('log-url')?.replace(/\/$/, '') ?? `${siteUrlOf(session.ledger)}/log`
  const readKey = async () => Buffer.from((await sendGet(session, `${url}/vkey`)).bytes).toString()
  const vkey = input.text('vkey') ?? (await readKey())
  const keys = { vkey, witnesses: input.list('witness') }
  const { read: readAhead } = logOverHttp(session, `${siteUrlOf(session.ledger)}/log`, keys)
  const hasLedger = input.text('ledger') !== undefined
  const source = { ...logOverHttp(session, url, keys), ...(hasLedger ? { readAhead } : {}) }
  const file = input.text('state')
  if (file === undefined) return createLogReader(source)
  return createLogReader(source, {
    load: () => Promise.resolve(fileExists(file) ? readBytes(file).toString('utf8') : null),
    save: (note) => Promise.resolve(writeFileSync(file, note)),
  })
}

/** Checks that the log contains the manifest, by its proof or a search, and the age of the newest entry. */
export async function manifestInLog(
  session: Session,
  input: Input,
  set: PublishedSet,
): Promise<readonly Check[]> {
  const expected = { kind: 'snapshot', sha256: sha256Hex(await set.manifest()) } as const
  return await logChecks(session, input, async (log, note) => {
    const proof = await set.proof()
    if (proof !== null) await log.prove(proof, expected, note)
    const tree = await log.check()
    if (proof === null) {
      for (const one of tree.checks) note(one)
      note(await findLast(tree, expected))
    }
    const last = (await tree.entriesOf(Math.floor((tree.size - 1) / tileWidth))).at(-1)
    note(newestEntry(session, input, (last && parseEntry(last)?.at) ?? null))
  })
}

/** Requests the proof that the log contains the entry. `missing`: what its absence means. */
export async function entryInLog(
  session: Session,
  input: Input,
  path: string,
  expected: ExpectedEntry,
  missing: string,
): Promise<readonly Check[]> {
  return await logChecks(session, input, async (log, note) => {
    const proof = await readIfFound(session, `${siteUrlOf(session.ledger)}${path}`)
    if (proof === null) throw new LogError('proof', missing)
    await log.prove(Buffer.from(proof).toString('utf8'), expected, note)
  })
}

interface LoggedReceipt {
  readonly id: string
  /** What its signature covers. */
  readonly content: JsonObject
  /** A revoked key counts for receipts before its revocation. */
  readonly platforms: readonly Pick<ListedPlatform, 'platform' | 'revoked_index'>[]
}

/** Requests the proof that the log contains the receipt. Without a proof, checks its promise. */
export async function receiptInLog(
  session: Session,
  input: Input,
  { id, content, platforms }: LoggedReceipt,
): Promise<readonly Check[]> {
  const sha256 = sha256Hex(canonicalize(content))
  return await logChecks(session, input, async (log, note) => {
    const url = `${siteUrlOf(session.ledger)}${apiPrefix}/receipts/${id}/proof`
    const proof = await readIfFound(session, url)
    const isProven = proof !== null
    const file = input.text('promise')
    if (file !== undefined) {
      const promise = readBytes(file).toString('utf8')
      const state = { isProven, nowMs: session.clock.now() }
      note(await log.checkPromise(promise, { id, sha256 }, state))
    }
    if (!isProven) throw new LogError('proof', 'the receipt is not in the log yet')
    const text = Buffer.from(proof).toString('utf8')
    const { index } = await log.prove(text, { kind: 'receipt', id, sha256 }, note)
    for (const one of revocationChecks(platforms, content['platform'], index)) note(one)
  })
}
