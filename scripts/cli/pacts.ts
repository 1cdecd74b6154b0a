/** Pacts, checked from outside. */
import { z } from 'zod'

import { verifyPersonalSign } from '../../src/auth/eip191.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { send } from '../../src/client/transport.ts'
import { verifyPact } from '../../src/client/verify-pact.ts'
import type { VerifiedPact } from '../../src/client/verify-pact.ts'
import { parseSigningKeys, verifyDocument } from '../../src/client/verify.ts'
import type { Check } from '../../src/client/verify.ts'
import { checkAttestations, pactAttestation } from '../../src/core/pact/check.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { StrictJsonError, parseStrictJson } from '../../src/core/strict-json.ts'
import { printChecks } from './checks.ts'
import type { Command } from './command.ts'
import { readBytes } from './files.ts'
import { UsageError } from './input.ts'
import type { Session } from './session.ts'

export const pactCommands: readonly Command[] = [
  {
    words: 'pact verify',
    summary: 'Check a pact three ways: its manifest, the escrow, the ledger’s record',
    description:
      'Reads the ledger over HTTP and the chain from a node that you name; trusts neither alone. Prints a line for each check.',
    operands: [{ name: 'id', doc: 'number of the pact' }],
    options: {
      rpc: {
        value: 'url',
        doc: 'JSON-RPC address of a node of Arbitrum One that you trust',
        required: true,
      },
      keys: {
        value: 'path',
        doc: 'a signing-keys.json that you have from before; else the one of the ledger is believed',
      },
      attestations: {
        value: 'path',
        doc: 'JSON file with attestations of the work, which are checked as well',
      },
    },
    kind: 'read',
    run: async (session, input) => {
      const id = input.operand('id').replace(/^pact-/, '')
      if (!/^[1-9]\d{0,8}$/.test(id)) throw new UsageError(`${id} is no number of a pact`)
      const file = input.text('attestations')
      const attestations = file === undefined ? [] : attestationsIn(file)
      const question = {
        transport: session,
        siteUrl: siteUrlOf(session.ledger),
        rpcUrl: input.needed('rpc'),
        pactId: Number(id),
        nowMs: session.clock.now(),
      }
      const verified = await verifyPact(question)
      const checks = [
        await signatureCheck(session, verified, input.text('keys')),
        ...verified.checks,
        ...(await attestationChecks(attestations, Number(id), verified)),
      ]
      return printChecks(session, { pact_id: id, state: verified.state }, checks)
    },
  },
]

async function signatureCheck(
  session: Session,
  { list }: VerifiedPact,
  pinned: string | undefined,
): Promise<Check> {
  const url = `${siteUrlOf(session.ledger)}/.well-known/signing-keys.json`
  const bytes =
    pinned === undefined
      ? (await send(session, { method: 'GET', url, headers: {}, body: null, signed: [] })).bytes
      : readBytes(pinned)
  const keys = parseSigningKeys(bytes)
  if (keys === null && pinned !== undefined) {
    throw new UsageError(`${pinned} is no signing-keys.json`)
  }
  if (keys === null) throw new UnexpectedAnswerError(`${url} holds no keys`)
  const signature = list.headers.get('x-signature')
  const kid = list.headers.get('x-signature-key')
  if (signature === null || kid === null) {
    return { what: 'signature', good: false, detail: 'the ledger’s list of pacts carries none' }
  }
  return await verifyDocument(list.bytes, { signature, kid }, keys)
}

type Attestations = z.infer<typeof pactAttestation>[]

function attestationsIn(file: string): Attestations {
  const json = jsonIn(file)
  const parsed = z.array(pactAttestation).safeParse(Array.isArray(json) ? json : [json])
  if (parsed.success) return parsed.data
  throw new UsageError(`${file} holds no attestations: ${z.prettifyError(parsed.error)}`)
}

function jsonIn(file: string): unknown {
  try {
    return parseStrictJson(readBytes(file))
  } catch (error) {
    if (error instanceof StrictJsonError) throw new UsageError(`${file}: ${error.message}`)
    throw error
  }
}

async function attestationChecks(
  attestations: Attestations,
  pactId: number,
  { workHash, escrow }: VerifiedPact,
): Promise<Check[]> {
  if (attestations.length === 0) return []
  if (workHash === null || escrow === null) {
    const detail = 'there is no manifest or no pact in the escrow to hold them against'
    return [{ what: 'attestations', good: false, detail }]
  }
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
  return verdicts.map((refusals, at) => ({
    what: `attestation ${attestations[at]?.attestation_id ?? at}`,
    good: refusals.length === 0,
    detail:
      refusals.length === 0
        ? 'signed by the worker, in time, for this work'
        : refusals.map(({ code, reason }) => `${code}: ${reason}`).join('; '),
  }))
}
