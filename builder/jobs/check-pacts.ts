import type { Transaction } from 'kysely'

import { rpcSettingOf } from '../../src/chain/chains.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import type { JsonObject } from '../../src/core/canonical-json.ts'
import type { Disagreement } from '../../src/core/pact/disagreements.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { isoTime, minuteMs } from '../../src/core/time.ts'
import { closeFlagWithEvent, openFlagWithEvent, listOpenFlags } from '../../src/db/flags.ts'
import type { FlagRecord } from '../../src/db/flags.ts'
import { escrowReading, forgetEscrow, pactsOnChain, saveReading } from '../../src/db/pacts.ts'
import type { Database } from '../../src/db/schema.ts'
import { EscrowContradiction, readEscrow } from '../chain/pact-escrow.ts'
import type { AuthoredPacts } from '../world/authored-pacts.ts'
import { decisionsOf, escrowKey } from '../world/pacts.ts'
import type { BuilderDeps } from './run-job.ts'

interface PactJobDeps extends Pick<BuilderDeps, 'database' | 'clock' | 'random' | 'signal'> {
  /** Null if no node is configured: the answer of a public node is not sufficient evidence of a payment. */
  readonly chain: ((name: 'arbitrum', signal: AbortSignal) => ChainReader) | null
  readonly authored: () => Promise<AuthoredPacts>
}

/** A run that exceeds this limit keeps the readings that it has stored. */
export const pactsTimeoutMs = 15 * minuteMs
const readingMs = 5 * minuteMs
/** No reading begins after this time; the next run continues. */
const readingsMs = 10 * minuteMs
const flagKind = 'pact_sources_disagree'
/** Subject of the flag about the escrow as a whole. */
const escrowSubject = 'escrow'
/** Maximum number of flags, so that receipts with invented job ids cannot flood the list. */
const maxFlags = 200

/** @throws the error of a failed node, after updating the flags from stored facts */
export async function checkPacts(deps: PactJobDeps): Promise<string> {
  const outcome = await read(deps).catch((error: unknown) => ({ error }))
  const flags = await updateFlags(deps, outcome)
  if (typeof outcome !== 'string') throw outcome.error
  return `${outcome}; ${flags} flags of pacts open`
}

async function read(deps: PactJobDeps): Promise<string> {
  const { clock, chain } = deps
  if (chain === null) return `the escrow was not read: ${rpcSettingOf('arbitrum')} is not set`
  const lastMs = clock.monotonic() + readingsMs
  for (;;) {
    const { caughtUp, detail } = await readOnce(deps, chain)
    if (caughtUp || clock.monotonic() >= lastMs) return detail
  }
}

async function readOnce(
  { database, clock, signal }: PactJobDeps,
  chain: NonNullable<PactJobDeps['chain']>,
): Promise<{ readonly caughtUp: boolean; readonly detail: string }> {
  const endMs = clock.monotonic() + readingMs
  const stored = await escrowReading(database.reader, escrowKey)
  const known = await pactsOnChain(database.reader)
  const answer = await readEscrow({
    reader: chain('arbitrum', signal),
    nowMs: clock.now(),
    signal,
    stored,
    known,
    isEnough: () => clock.monotonic() >= endMs,
  }).catch(async (error: unknown) => {
    // An unfinished first reading is discarded: the next run starts again.
    const isFirst = stored?.caughtUp !== true
    if (error instanceof EscrowContradiction && isFirst) await database.write(forgetEscrow)
    throw error
  })
  const changed = await database.write((tx) =>
    saveReading(tx, escrowKey, answer.aboveBlock, answer),
  )
  if (answer.failure !== null) throw answer.failure
  const { toBlock, caughtUp } = answer.reading
  const progress = caughtUp ? `read to block ${toBlock}` : `caught up to block ${toBlock}`
  const detail = `escrow ${progress}, ${answer.events.length} logs above block ${answer.aboveBlock}${changed ? ', changed' : ''}`
  return { caughtUp, detail }
}

interface Finding {
  readonly subject: string
  readonly title: string
  readonly evidence: JsonObject
}

async function updateFlags(
  deps: PactJobDeps,
  outcome: string | { readonly error: unknown },
): Promise<number> {
  const { database, clock, authored } = deps
  const nowMs = clock.now()
  const pacts = await authored()
  return await database.write(async (tx) => {
    const { decisions } = await decisionsOf(tx, pacts, nowMs)
    const findings = [...decisions.disagreements]
      .toSorted((a, b) => Number(isByStrangers(a)) - Number(isByStrangers(b)))
      .slice(0, maxFlags)
      .map(findingOf)
    const open = (await listOpenFlags(tx)).filter(({ kind }) => kind === flagKind)
    if (typeof outcome !== 'string') {
      // A failed reading confirms nothing, so the flag of an earlier contradiction stays open.
      const before = open.filter(({ subject }) => subject === escrowSubject)
      const isFound = outcome.error instanceof EscrowContradiction
      findings.push(...(isFound ? [contradictionOf(outcome.error)] : before))
    }
    await settleFlags(tx, deps, findings, open, isoTime(nowMs))
    return findings.length
  })
}

/** Disagreements that a stranger can cause are sorted last, so that they are dropped first. */
function isByStrangers([, disagreements]: readonly [number, readonly Disagreement[]]): boolean {
  return disagreements.every(({ byStranger }) => byStranger === true)
}

function findingOf([pactId, disagreements]: readonly [number, readonly Disagreement[]]): Finding {
  const evidence: Record<string, string | number> = {
    pact_id: String(pactId),
    disagreements: disagreements.length,
  }
  for (const [at, { between, text }] of disagreements.slice(0, 8).entries()) {
    evidence[`between_${at + 1}`] = between
    evidence[`finding_${at + 1}`] = text.slice(0, 500)
  }
  return { subject: `pact-${pactId}`, title: `Pact ${pactId}: its sources disagree`, evidence }
}

function contradictionOf(error: EscrowContradiction): Finding {
  const evidence = {
    contract: pactEscrow.address,
    disagreements: 1,
    between_1: error.between,
    finding_1: error.message.slice(0, 500),
  }
  const title = 'The escrow data of a node contradicts itself'
  return { subject: escrowSubject, title, evidence }
}

async function settleFlags(
  tx: Transaction<Database>,
  { random }: PactJobDeps,
  findings: readonly Finding[],
  open: readonly FlagRecord[],
  at: string,
): Promise<void> {
  const wanted = new Map(findings.map((finding) => [finding.subject, finding]))
  for (const flag of open) {
    const finding = wanted.get(flag.subject)
    if (finding !== undefined && canonicalize(finding.evidence) === canonicalize(flag.evidence)) {
      wanted.delete(flag.subject)
      continue
    }
    const key = { kind: flagKind, rail: flag.rail, subject: flag.subject }
    const reason = finding === undefined ? 'no longer applies' : 'replaced by new evidence'
    await closeFlagWithEvent(tx, random, key, at, reason)
  }
  for (const { subject, title, evidence } of wanted.values()) {
    const flag = { kind: flagKind, rail: 'pact', subject, severity: 'warning', title } as const
    await openFlagWithEvent(tx, random, { ...flag, evidence, openedAt: at })
  }
}
