/** Compares a pact's manifest, the escrow state on a node, and the ledger's record. */
import { z } from 'zod'

import { apiPrefix } from '../contract/route.ts'
import { pactList } from '../contract/schemas/pact.ts'
import type { Check } from '../core/check.ts'
import { checkManifests } from '../core/pact/check.ts'
import type { CheckedManifest, ReadManifest } from '../core/pact/check.ts'
import { decodePact, getPactCall, pactAmount, pactEscrow } from '../core/pact/escrow.ts'
import type { EscrowPact, EscrowStatus } from '../core/pact/escrow.ts'
import { StrictJsonError, parseStrictJson } from '../core/strict-json.ts'
import { isoTime } from '../core/time.ts'
import { CallError, LedgerError, LedgerUnreachableError, UnexpectedAnswerError } from './errors.ts'
import { checkPayment, checkPublishedRecord } from './pact-payment.ts'
import type { CallNode } from './pact-payment.ts'
import { send, sendGet } from './transport.ts'
import type { RawAnswer, TransportDeps } from './transport.ts'
import { strictJsonOrNull } from './verify.ts'

export interface PactRequest {
  readonly transport: TransportDeps
  readonly siteUrl: string
  /** JSON-RPC address of a node that the caller trusts. */
  readonly rpcUrl: string
  readonly pactId: number
  /** Unix milliseconds. */
  readonly nowMs: number
}

type List = z.infer<typeof pactList>
type PactRecord = List['settled'][number] | List['in_flight'][number] | List['recorded'][number]

export interface VerifiedPact {
  readonly state: PactRecord['state'] | null
  readonly workHash: string | null
  /** Null where the escrow has no such pact, or the node is of another chain. */
  readonly escrow: EscrowPact | null
  readonly list: RawAnswer
  readonly checks: readonly Check[]
}

/** @throws LedgerUnreachableError, UnexpectedAnswerError */
export async function verifyPact(request: PactRequest): Promise<VerifiedPact> {
  const { transport, siteUrl, pactId } = request
  const list = await get(transport, `${siteUrl}${apiPrefix}/pacts`)
  const { record, checks } = recordOf(list, pactId)
  const manifest = record === null ? null : await manifestOf(request, record)
  if (manifest !== null) checks.push(...manifestChecks(manifest, record))
  const callNode = createNodeCaller(request)
  const chainId = await callNode(z.string(), 'eth_chainId', [])
  const isChain = Number(chainId) === pactEscrow.chainId
  checks.push({
    what: 'chain',
    good: isChain,
    detail: isChain
      ? `the node serves ${pactEscrow.chain} (${pactEscrow.chainId})`
      : `wrong_chain: the node serves chain ${Number(chainId)}, not ${pactEscrow.chainId}`,
  })
  const workHash = manifest?.workHash ?? null
  const state = record?.state ?? null
  if (!isChain) return { state, workHash, escrow: null, list, checks }
  const escrow = await escrowOf(callNode, pactId)
  checks.push(...escrowChecks(escrow, { request, record, workHash }))
  if (record?.state === 'settled') checks.push(...(await checkPayment(callNode, record)))
  if (record?.state === 'recorded') checks.push(...(await checkPublishedRecord(callNode, record)))
  return { state, workHash, escrow, list, checks }
}

function recordOf(
  list: RawAnswer,
  pactId: number,
): { readonly record: PactRecord | null; readonly checks: Check[] } {
  const parsed = pactList.safeParse(strictJsonOrNull(list.bytes))
  if (!parsed.success) throw new UnexpectedAnswerError('the ledger’s list of pacts is malformed')
  const { settled, in_flight: inFlight, recorded } = parsed.data
  const found = [...settled, ...inFlight, ...recorded].filter(
    (pact) => pact.pact_id === String(pactId),
  )
  const [record = null] = found
  const detail =
    record === null
      ? `the ledger has no pact ${pactId}`
      : found.length > 1
        ? `the ledger has it ${found.length} times`
        : describeRecord(record)
  return { record, checks: [{ what: 'record', good: found.length === 1, detail }] }
}

function describeRecord(record: PactRecord): string {
  if (record.state === 'settled') return `settled by ${record.receipt_id}`
  if (record.state === 'recorded') return `recorded from ${record.source.name}; no verified receipt`
  const blocker = record.phase_blocker === null ? '' : `: ${record.phase_blocker}`
  return `in flight, ${record.phase_status}${blocker}`
}

/** Null if the pact has no manifest. */
async function manifestOf(
  { transport, siteUrl, pactId }: PactRequest,
  record: PactRecord,
): Promise<CheckedManifest | null> {
  if (record.state === 'recorded') return null
  if (record.state === 'settled' && !record.confirmed_by.includes('manifest')) return null
  const at = `${siteUrl}/pacts/${pactId}`
  const uris =
    record.state === 'in_flight'
      ? record
      : { spec_uri: `${at}/spec.json`, instance_uri: `${at}/instance.json` }
  const spec = await manifestAt(transport, uris.spec_uri)
  const instance = await manifestAt(transport, uris.instance_uri)
  const identity = { pactId, chainId: pactEscrow.chainId, contractAddress: pactEscrow.address }
  return checkManifests({ spec, instance }, identity)
}

async function manifestAt(transport: TransportDeps, url: string): Promise<ReadManifest> {
  try {
    return { json: parseStrictJson((await get(transport, url)).bytes) }
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
  const checks = refusals.map(({ code, reason }): Check => ({
    what: 'manifest',
    good: false,
    detail: `${code}: ${reason}`,
  }))
  if (workHash !== null && canonicalText !== null) {
    const bytes = new TextEncoder().encode(canonicalText).length
    const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`
    const detail = `${bytes} canonical bytes hash to ${workHash}${noted}`
    checks.push({ what: 'manifest', good: refusals.length === 0, detail })
  }
  if (record?.state === 'in_flight') {
    const good = record.work_hash === workHash
    const detail = good
      ? 'the ledger states the same hash'
      : `hash_divergence: the ledger states ${record.work_hash ?? 'none'}`
    checks.push({ what: 'manifest and record', good, detail })
  }
  return checks
}

async function escrowOf(callNode: CallNode, pactId: number): Promise<EscrowPact | null> {
  const call = [{ to: pactEscrow.address, data: getPactCall(pactId) }, 'latest']
  const answer = await callNode(z.string(), 'eth_call', call)
  try {
    return decodePact(answer)
  } catch (error) {
    if (error instanceof RangeError) throw new UnexpectedAnswerError(error.message)
    throw error
  }
}

/** The escrow statuses that fit a phase; a blocked pact may have any. */
const statusesOf: Readonly<Record<string, readonly (EscrowStatus | null)[]>> = {
  drafted: [null],
  funded: ['Active'],
  in_progress: ['Active'],
  submitted: ['WorkSubmitted'],
  verifying: ['Completed', 'Arbitrated'],
}

function escrowChecks(
  escrow: EscrowPact | null,
  known: {
    readonly request: PactRequest
    readonly record: PactRecord | null
    readonly workHash: string | null
  },
): Check[] {
  const { request, record, workHash } = known
  const checks: Check[] = []
  const isDraft = record?.state === 'in_flight' && record.phase_status === 'drafted'
  if (escrow === null) {
    const detail = `the escrow has no pact ${request.pactId}`
    return [{ what: 'escrow', good: isDraft, detail }]
  }
  const amount = `${pactAmount(escrow.amount)} PACT from ${escrow.creator} to ${escrow.recipient}`
  checks.push({ what: 'escrow', good: true, detail: `${escrow.status}, ${amount}` })
  if (record?.state === 'in_flight' && record.phase_status !== 'blocked') {
    const good = statusesOf[record.phase_status]?.includes(escrow.status) === true
    const detail = `ledger: ${record.phase_status}; escrow: ${escrow.status}`
    checks.push({ what: 'escrow and record', good, detail })
  }
  if (record?.state === 'settled') {
    checks.push(partiesCheck(escrow, record))
    const good = statusesOf['verifying']?.includes(escrow.status) === true
    const detail = `ledger: settled; escrow: ${escrow.status}`
    checks.push({ what: 'escrow and record', good, detail })
  }
  if (escrow.workHash !== null && workHash !== null) {
    const good = escrow.workHash === workHash
    const detail = good
      ? 'the submitted work has the hash of the manifest'
      : `hash_divergence: the submitted work has ${escrow.workHash}`
    checks.push({ what: 'escrow and manifest', good, detail })
  }
  if (escrow.status === 'Active' && request.nowMs > escrow.deadlineMs) {
    const detail = `deadline_passed: no work was submitted by ${isoTime(escrow.deadlineMs)}`
    checks.push({ what: 'deadline', good: false, detail })
  }
  return checks
}

function partiesCheck(escrow: EscrowPact, record: List['settled'][number]): Check {
  const what = 'escrow and record'
  const payers = [escrow.creator, pactEscrow.address.toLowerCase()]
  if (record.worker.toLowerCase() !== escrow.recipient) {
    const detail = `wrong_signer: the ledger names the worker ${record.worker}`
    return { what, good: false, detail }
  }
  const good = payers.includes(record.payer.toLowerCase())
  const detail = good ? 'payer and worker match' : `the ledger names the payer ${record.payer}`
  return { what, good, detail }
}

const rpcAnswer = z.object({
  result: z.unknown(),
  error: z.object({ message: z.string() }).optional(),
})

function createNodeCaller({ transport, rpcUrl }: PactRequest): CallNode {
  if (!URL.canParse(rpcUrl) || !/^https?:$/.test(new URL(rpcUrl).protocol)) {
    throw new CallError('the node address must be an http or https URL')
  }
  return async (schema, method, params) => {
    const answer = await send(transport, {
      method: 'POST',
      url: rpcUrl,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signed: [],
    }).catch((error: unknown) => {
      if (!(error instanceof LedgerError)) throw error
      throw new UnexpectedAnswerError(`the node answered ${error.status} to ${method}`)
    })
    const parsed = rpcAnswer.safeParse(strictJsonOrNull(answer.bytes))
    if (!parsed.success)
      throw new UnexpectedAnswerError(`the node sent no valid answer to ${method}`)
    const { result, error } = parsed.data
    if (error !== undefined) {
      throw new UnexpectedAnswerError(`the node refused ${method}: ${error.message.slice(0, 200)}`)
    }
    const shaped = schema.safeParse(result)
    if (shaped.success) return shaped.data
    throw new UnexpectedAnswerError(`the node sent no valid answer to ${method}`)
  }
}

async function get(transport: TransportDeps, url: string): Promise<RawAnswer> {
  if (!URL.canParse(url))
    throw new UnexpectedAnswerError('the manifest address of the ledger is not a URL')
  return await sendGet(transport, url)
}
