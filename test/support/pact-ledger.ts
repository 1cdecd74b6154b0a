/** A database with pacts, and the jobs that check pacts and receipts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { checkPacts } from '../../builder/jobs/check-pacts.ts'
import { checkReceipts } from '../../builder/jobs/check-receipts.ts'
import { loadAuthoredPacts } from '../../builder/world/authored-pacts.ts'
import { gatherPacts } from '../../builder/world/pacts.ts'
import type { PactsWorld } from '../../builder/world/pacts.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import { checkManifests } from '../../src/core/pact/check.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { isoDate, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { listClosedFlags, listOpenFlags } from '../../src/db/flags.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { quickRequests } from './rail-context.ts'
import { pendingReceiptRow } from './receipts.ts'

const pactSite = 'https://ledger.test'

export function manifestsOf(pactId: number, deadlineMs: number) {
  const identity = {
    spec_version: '3.0.0',
    pact_id: pactId,
    chain_id: pactEscrow.chainId,
    contract_address: pactEscrow.address,
  }
  const spec = {
    ...identity,
    manifest_kind: 'report',
    title: 'A report on tides',
    deadline: isoDate(deadlineMs),
    canonical_form:
      'Keep only the fields named in `fields`, at every level. Write RFC 8785 JSON: sorted members, no white space, UTF-8, no newline at the end.',
    hash: 'keccak256',
    fields: {
      spec_version: 'string',
      pact_id: 'integer',
      chain_id: 'integer',
      contract_address: 'address',
      report: { title: 'string', sha256: 'string', pages: 'integer' },
    },
    source: 'Agreed by its parties.',
  }
  const report = { title: 'Tides — ébb', sha256: 'ab'.repeat(32), pages: 12 }
  const instance = { ...identity, report, _note: 'stripped' }
  const { workHash } = checkManifests(
    { spec: { json: spec }, instance: { json: instance } },
    { pactId, chainId: pactEscrow.chainId, contractAddress: pactEscrow.address },
  )
  if (workHash === null) throw new Error('the manifests of the test have no hash')
  return { spec, instance, workHash }
}

export async function pactLedger(rpcUrl: string, genesisMs: number) {
  const database = await tempDatabase()
  const dir = tempFolder()
  const clock = { nowMs: genesisMs, waitedMs: 0 }
  const signal = new AbortController().signal
  const requests = quickRequests()
  const deps = {
    database,
    clock: { ...requests.clock, now: () => clock.nowMs, monotonic: () => clock.waitedMs },
    random: systemRandom,
    authored: async () => await loadAuthoredPacts(dir),
    signal,
  }
  let url = rpcUrl
  return {
    database,
    dir,
    at: (nowMs: number) => {
      clock.nowMs = nowMs
    },
    wait: (ms: number) => {
      clock.waitedMs += ms
    },
    useNode: (rpcUrl: string) => {
      url = rpcUrl
    },
    /** Writes the manifests of a pact into the authored folder. */
    addManifests: (
      pactId: number,
      manifests: { readonly spec: object; readonly instance: object },
    ) => {
      const at = join(dir, String(pactId))
      mkdirSync(at, { recursive: true })
      const about = {
        pact_id: pactId,
        title: 'A report on tides',
        updated_at: isoTime(genesisMs),
        source: 'a test',
      }
      writeFileSync(join(at, 'pact.json'), JSON.stringify(about))
      writeFileSync(join(at, 'spec.json'), JSON.stringify(manifests.spec))
      writeFileSync(join(at, 'instance.json'), JSON.stringify(manifests.instance))
    },
    publish: (pacts: readonly object[]) => {
      const published = { noted_on: '2026-11-01', note: 'Copied.', pacts }
      writeFileSync(join(dir, 'published.json'), JSON.stringify(published))
    },
    check: async (): Promise<string> =>
      await checkPacts({ ...deps, chain: (name) => createChainReader(name, url, requests) }),
    checkWithoutNode: async (): Promise<string> => await checkPacts({ ...deps, chain: null }),
    checkReceipts: async () => {
      const rpcUrls = { arbitrum: url }
      return await checkReceipts({ ...requests, ...deps, rpcUrls })
    },
    pacts: async (siteUrl = pactSite): Promise<PactsWorld> =>
      await gatherPacts(database.reader, await loadAuthoredPacts(dir), {
        siteUrl,
        nowMs: clock.nowMs,
      }),
    openFlags: async () =>
      (await listOpenFlags(database.reader)).filter(({ kind }) => kind === 'pact_sources_disagree'),
    closedFlags: async () => await listClosedFlags(database.reader, 100),
    /** Stores a receipt that waits for the check of its chain. */
    receipt: async (receipt: {
      readonly id: string
      readonly pactId: number
      readonly txHash: string
      readonly from: string
      readonly to: string
      readonly microUsdc?: number
    }) => {
      const id = `rcp_${receipt.id.padStart(64, '0')}`
      const row = pendingReceiptRow(clock.nowMs, {
        id,
        rail: 'pact',
        chain: 'arbitrum',
        txHash: receipt.txHash,
        from: parseWallet(receipt.from),
        to: parseWallet(receipt.to),
        amountMicroUsdc: receipt.microUsdc ?? 12_500_000,
        jobId: `pact-${receipt.pactId}`,
      })
      await database.write((tx) => insertReceipt(tx, row))
      return id
    },
  }
}
