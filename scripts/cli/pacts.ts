import { z } from 'zod'

import { verifyPersonalSign } from '../../src/auth/eip191.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { verifyPact } from '../../src/client/verify-pact.ts'
import type { VerifiedPact } from '../../src/client/verify-pact.ts'
import type { Check } from '../../src/core/check.ts'
import { checkAttestations, pactAttestation } from '../../src/core/pact/check.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { ledgerOptions, outputOptions, signingKeysOptions } from './command.ts'
import type { Command } from './command.ts'
import { readJson } from './files.ts'
import { UsageError } from './input.ts'
import { printChecks } from './output.ts'
import { verifyAnswer } from './published-set.ts'

export const pactVerify: Command = {
  words: 'pact verify',
  summary: 'Verify a pact against its manifest, the escrow and the ledger record',
  description:
    'Reads the ledger over HTTP and the chain from a node of your choice; neither is trusted alone.',
  operands: [
    {
      name: 'id',
      doc: 'pact number',
      schema: z.string().regex(/^(?:pact-)?[1-9]\d{0,8}$/, 'must be a pact number'),
    },
  ],
  options: {
    rpc: {
      value: 'url',
      doc: 'JSON-RPC address of an Arbitrum One node that you trust',
      required: true,
    },
    ...signingKeysOptions,
    attestations: {
      value: 'path',
      doc: 'JSON file with attestations of the work to verify',
    },
    ...ledgerOptions,
    ...outputOptions,
  },
  run: async (session, input) => {
    const id = input.operand('id').replace(/^pact-/, '')
    const file = input.text('attestations')
    const attestations = file === undefined ? [] : readAttestations(file)
    const siteUrl = siteUrlOf(session.ledger)
    const verified = await verifyPact({
      transport: session,
      siteUrl,
      rpcUrl: input.required('rpc'),
      pactId: Number(id),
      nowMs: session.clock.now(),
    })
    const signedBy = { origin: siteUrl, keysFile: input.text('keys') }
    const checks = [
      await verifyAnswer(session, verified.list, signedBy),
      ...verified.checks,
      ...(await checkGivenAttestations(attestations, Number(id), verified)),
    ]
    return printChecks(session, { pact_id: id, state: verified.state }, checks)
  },
}

type Attestations = z.infer<typeof pactAttestation>[]

function readAttestations(file: string): Attestations {
  const json = readJson(file)
  const parsed = z.array(pactAttestation).safeParse(Array.isArray(json) ? json : [json])
  if (parsed.success) return parsed.data
  throw new UsageError(`${file} contains no attestations: ${z.prettifyError(parsed.error)}`)
}

async function checkGivenAttestations(
  attestations: Attestations,
  pactId: number,
  { workHash, escrow }: VerifiedPact,
): Promise<Check[]> {
  if (attestations.length === 0) return []
  if (workHash === null || escrow === null) {
    const detail = 'no manifest or no escrow record to check them against'
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
