/** `pact verify`: compares the manifest of a pact, the escrow on a node, and the record of the ledger. */
import { z } from 'zod'

import { verifyPersonalSign } from '../../src/auth/eip191.ts'
import { ChainError, WrongChainError } from '../../src/chain/errors.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import {
  LedgerError,
  LedgerUnreachableError,
  UnexpectedAnswerError,
} from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { sendGet } from '../../src/client/transport.ts'
import type { TransportDeps } from '../../src/client/transport.ts'
import { apiPrefix } from '../../src/contract/route.ts'
import { pactList } from '../../src/contract/schemas/pact.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { checkAttestations, checkManifests, pactAttestation } from '../../src/core/pact/check.ts'
import type { CheckedManifest, ReadManifest } from '../../src/core/pact/check.ts'
import { decodePact, getPactCall, pactAmount, pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowPact, EscrowStatus } from '../../src/core/pact/escrow.ts'
import { StrictJsonError, parseStrictJson, strictJsonOrNull } from '../../src/core/strict-json.ts'
import { isoTime } from '../../src/core/time.ts'
import { readJson } from './files.ts'
import { parseOrUsageError } from './input.ts'
import type { Input } from './input.ts'
import { printChecks } from './output.ts'
import { checkTransactions } from './pact-payment.ts'
import type { PactRecord, SettledPact } from './pact-payment.ts'
import { verifyAnswer } from './published-set.ts'
import type { Session } from './session.ts'

export async function verifyPact(session: Session, input: Input): Promise<number> {
  const id = input.required('id').replace(/^pact-/, '')
  const file = input.text('attestations')
  const attestations = file === undefined ? [] : readAttestations(file)
  const origin = siteUrlOf(session.ledger)
  const list = await sendGet(session, `${origin}${apiPrefix}/pacts`)
  const { record, ...found } = findRecord(list.bytes, id)
  const manifest = record === null ? null : await fetchManifest(session, origin, record)
  const workHash = manifest?.workHash ?? null
  const { escrow, checks } = await checkChain(session, input.required('rpc'), {
    pactId: Number(id),
    record,
    workHash,
  })
  return printChecks(session, { pact_id: id, state: record?.state ?? null }, [
    await verifyAnswer(session, list, { origin, keysFile: input.text('keys') }),
    found.check,
    ...(manifest === null ? [] : manifestChecks(manifest, record)),
    ...checks,
    ...(await checkGivenAttestations(attestations, Number(id), { workHash, escrow })),
  ])
}

function findRecord(list: Uint8Array, id: string) {
  const parsed = pactList.safeParse(strictJsonOrNull(list))
  if (!parsed.success) throw new UnexpectedAnswerError('the ledger’s list of pacts is malformed')
  const { settled, in_flight: inFlight, recorded } = parsed.data
  const found = [...settled, ...inFlight, ...recorded].filter((pact) => pact.pact_id === id)
  const record = found.at(0) ?? null
  const detail = record === null ? `the ledger has no pact ${id}` : describeRecord(record)
  const ifBad = record === null ? detail : `the ledger has it ${found.length} times`
  return { record, check: check('record', found.length === 1, detail, ifBad) }
}

function describeRecord(record: PactRecord): string {
  if (record.state === 'settled') return `settled by ${record.receipt_id}`
  if (record.state === 'recorded') return `recorded from ${record.source.name}; no verified receipt`
  const blocker = record.phase_blocker === null ? '' : `: ${record.phase_blocker}`
  return `in flight, ${record.phase_status}${blocker}`
}

/** Null if the pact has no manifest. */
async function fetchManifest(
  transport: TransportDeps,
  siteUrl: string,
  record: PactRecord,
): Promise<CheckedManifest | null> {
  if (record.state === 'recorded') return null
  if (record.state === 'settled' && !record.confirmed_by.includes('manifest')) return null
  // The addresses in the record are not used, since they could point anywhere.
  const at = `${siteUrl}/pacts/${record.pact_id}`
  const spec = await manifestAt(transport, `${at}/spec.json`)
  const instance = await manifestAt(transport, `${at}/instance.json`)
  const { chainId, address: contractAddress } = pactEscrow
  const identity = { pactId: Number(record.pact_id), chainId, contractAddress }
  return checkManifests({ spec, instance }, identity)
}

async function manifestAt(transport: TransportDeps, url: string): Promise<ReadManifest> {
  try {
    return { json: parseStrictJson((await sendGet(transport, url)).bytes) }
  } catch (error) {
    if (error instanceof StrictJsonError) return { malformed: error.message }
    if (error instanceof LedgerError) return { unreachable: `${url} answered ${error.status}` }
    if (error instanceof LedgerUnreachableError) return { unreachable: error.message }
    throw error
  }
}

function manifestChecks(
  { refusals, workHash, canonicalText, notes }: CheckedManifest,
  record: PactRecord | null,
): Check[] {
  const checks = refusals.map(({ code, reason }) => check('manifest', false, `${code}: ${reason}`))
  if (workHash !== null && canonicalText !== null) {
    const bytes = Buffer.byteLength(canonicalText)
    const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`
    const detail = `${bytes} canonical bytes hash to ${workHash}${noted}`
    checks.push(check('manifest', refusals.length === 0, detail))
  }
  if (record?.state === 'in_flight') {
    const ifBad = `hash_divergence: the ledger states ${record.work_hash ?? 'none'}`
    const isSame = record.work_hash === workHash
    checks.push(check('manifest and record', isSame, 'the ledger states the same hash', ifBad))
  }
  return checks
}

interface PactToCheck {
  readonly pactId: number
  readonly record: PactRecord | null
  readonly workHash: string | null
}

/**
 * Reads the escrow and the payment. `escrow` is null if the escrow has no such pact, or if the node serves another chain.
 * @throws LedgerUnreachableError or UnexpectedAnswerError if the node does not answer correctly
 */
async function checkChain(session: Session, rpcUrl: string, pact: PactToCheck) {
  const options = { ...session, retries: 0 }
  try {
    const reader = createChainReader('arbitrum', rpcUrl, options)
    const call = { to: pactEscrow.address, data: getPactCall(pact.pactId) }
    const escrow = await reader.view(call, decodePact)
    const { chain, chainId } = pactEscrow
    const checks = [
      check('chain', true, `the node serves ${chain} (${chainId})`),
      ...escrowChecks(escrow, pact, session.clock.now()),
      ...(await checkTransactions(reader, pact.record)),
    ]
    return { escrow, checks }
  } catch (error) {
    if (error instanceof WrongChainError)
      return { escrow: null, checks: [check('chain', false, `wrong_chain: ${error.message}`)] }
    if (!(error instanceof ChainError)) throw error
    throw error.isTransient
      ? new LedgerUnreachableError(error.message)
      : new UnexpectedAnswerError(error.message)
  }
}

/** The escrow statuses that match a phase. A blocked pact may have any status. */
const statusesOf: Readonly<Record<string, readonly (EscrowStatus | null)[]>> = {
  drafted: [null],
  funded: ['Active'],
  in_progress: ['Active'],
  submitted: ['WorkSubmitted'],
  verifying: ['Completed', 'Arbitrated'],
  settled: ['Completed', 'Arbitrated'],
}

function escrowChecks(
  escrow: EscrowPact | null,
  { pactId, record, workHash }: PactToCheck,
  nowMs: number,
): Check[] {
  const phase = record?.state === 'in_flight' ? record.phase_status : record?.state
  if (escrow === null) {
    return [check('escrow', phase === 'drafted', `the escrow has no pact ${pactId}`)]
  }
  const { status, deadlineMs } = escrow
  const amount = `${pactAmount(escrow.amount)} PACT from ${escrow.creator} to ${escrow.recipient}`
  const checks = [check('escrow', true, `${status}, ${amount}`)]
  if (record?.state === 'settled') checks.push(partiesCheck(escrow, record))
  if (phase !== undefined && phase !== 'blocked' && phase !== 'recorded') {
    const good = statusesOf[phase]?.includes(status) === true
    checks.push(check('escrow and record', good, `ledger: ${phase}; escrow: ${status}`))
  }
  if (escrow.workHash !== null && workHash !== null) {
    const isSame = escrow.workHash === workHash
    const same = 'the submitted work has the hash of the manifest'
    const ifBad = `hash_divergence: the submitted work has ${escrow.workHash}`
    checks.push(check('escrow and manifest', isSame, same, ifBad))
  }
  if (status === 'Active' && nowMs > deadlineMs) {
    const detail = `deadline_passed: no work was submitted by ${isoTime(deadlineMs)}`
    checks.push(check('deadline', false, detail))
  }
  return checks
}

function partiesCheck({ creator, recipient }: EscrowPact, { worker, payer }: SettledPact): Check {
  const what = 'escrow and record'
  if (worker.toLowerCase() !== recipient)
    return check(what, false, `wrong_signer: the ledger names the worker ${worker}`)
  const isKnown = [creator, pactEscrow.address.toLowerCase()].includes(payer.toLowerCase())
  return check(what, isKnown, 'payer and worker match', `the ledger names the payer ${payer}`)
}

function readAttestations(file: string) {
  const json = readJson(file)
  const list = Array.isArray(json) ? json : [json]
  return parseOrUsageError(z.array(pactAttestation), list, `${file} contains no attestations: `)
}

async function checkGivenAttestations(
  attestations: ReturnType<typeof readAttestations>,
  pactId: number,
  { workHash, escrow }: { readonly workHash: string | null; readonly escrow: EscrowPact | null },
): Promise<Check[]> {
  if (attestations.length === 0) return []
  if (workHash === null || escrow === null)
    return [check('attestations', false, 'no manifest or no escrow record to check them against')]
  const verdicts = await checkAttestations(attestations, {
    pactId,
    chainId: pactEscrow.chainId,
    contractAddress: pactEscrow.address,
    workHash,
    worker: escrow.recipient,
    deadlineMs: escrow.deadlineMs,
    isSignedBy: async (message, signature, wallet) =>
      (await verifyPersonalSign(message, signature, wallet)).valid,
  })
  return verdicts.map((refusals, at) => {
    const what = `attestation ${attestations[at]?.attestation_id ?? at}`
    const reasons = refusals.map(({ code, reason }) => `${code}: ${reason}`).join('; ')
    return check(what, reasons === '', 'signed by the worker, in time, for this work', reasons)
  })
}
