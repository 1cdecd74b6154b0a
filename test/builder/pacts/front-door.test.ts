import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { documentsOf } from '../../../builder/documents/index.ts'
import { loadAuthoredPacts } from '../../../builder/world/authored-pacts.ts'
import { gatherPacts } from '../../../builder/world/pacts.ts'
import { commands } from '../../../scripts/cli/commands.ts'
import { run } from '../../../scripts/cli/run.ts'
import { pactList } from '../../../src/contract/schemas/pact.ts'
import { attestationMessage } from '../../../src/core/pact/check.ts'
import { pactEscrow } from '../../../src/core/pact/escrow.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { publicDir, sampleDocuments, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'
import { creator, firstPactId as id, startPactChain, worker } from '../../support/pact-chain.ts'
import type { PactChain } from '../../support/pact-chain.ts'
import { manifestsOf, pactLedger } from '../../support/pact-ledger.ts'
import { startRpcProxy } from '../../support/rpc-proxy.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { evmWallet } from '../../support/wallets.ts'
import { smallWorld } from '../../support/world.ts'

allowSlowTests('starts anvil')

const genesisMs = Date.UTC(2026, 10, 1)
const deadlineMs = Date.UTC(2026, 10, 10, 12)
const manifests = manifestsOf(id, deadlineMs)
const dataDir = new URL('../../../data/pacts', import.meta.url).pathname

let chain: PactChain
let service: Service
let published: PublicDir
let ledger: Awaited<ReturnType<typeof pactLedger>>
let goBack: () => Promise<void>
let dir: string

beforeAll(async () => {
  chain = await startPactChain(genesisMs)
  published = await publicDir()
  await published.publish(sampleDocuments.slice(0, 1))
  service = await startService(published.dir)
})
afterAll(async () => {
  await service.stop()
  await published.remove()
  await chain.stop()
})
beforeEach(async () => {
  goBack = await chain.snapshot()
  dir = mkdtempSync(join(tmpdir(), 'ledger-pacts-'))
  ledger = await pactLedger(chain.url, genesisMs)
  ledger.hold(id, manifests)
})
afterEach(async () => {
  await goBack()
  rmSync(dir, { recursive: true, force: true })
})

/** Looks at the chain and publishes what the ledger then knows, under the address of this service. */
async function publish(pacts = ledger.pacts(service.url)): Promise<void> {
  const world = smallWorld()
  const script = await readFile(join(dataDir, 'reproduce.mjs'), 'utf8')
  const site = { ...world.site, url: service.url }
  const known = { ...(await pacts), reproduceScript: script }
  const keys = { keys: published.publicKeys.keys.map((key) => ({ ...key })) }
  const documents = documentsOf({ ...world, site, pacts: known, signingKeys: keys })
  await published.publish([...documents].filter(({ path }) => /pact|signing-keys/.test(path)))
  await service.store.reload()
}

async function look(): Promise<void> {
  ledger.at((await chain.headTimeMs()) + minuteMs)
  await ledger.check()
  await publish()
}

async function submitted(hash = manifests.workHash): Promise<void> {
  await chain.create(deadlineMs, genesisMs + dayMs)
  await chain.act(worker, 'submitWork', [id, hash], genesisMs + 2 * dayMs)
}
async function settled(): Promise<void> {
  await submitted()
  await settledFrom()
}
/** The rest of the way, once work is submitted. */
async function settledFrom(): Promise<void> {
  await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
  const paidMs = genesisMs + 3 * dayMs + hourMs
  const txHash = await chain.pay(creator, worker, 12_500_000, paidMs)
  ledger.at(paidMs)
  await ledger.receipt({ id: '1', pactId: id, txHash, from: creator, to: worker })
  await chain.mine(20)
  ledger.at((await chain.headTimeMs()) + minuteMs)
  await ledger.checkReceipts()
}

async function get(path: string): Promise<Response> {
  return await fetch(`${service.url}${path}`)
}

async function command(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number; out: string; err: string }> {
  return await new Promise((resolve) => {
    const options = { cwd: dir, env: { ...process.env, ...environment } }
    execFile(file, [...args], options, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: out.trim(), err })
    })
  })
}

describe('the documents of pacts', () => {
  test('are served with their max-age, and an unknown pact is a 404', async () => {
    await look()
    const list = await get('/api/v1/pacts')
    expect(list.headers.get('cache-control')).toMatch(/^public, max-age=60\b/)
    const {
      settled: none,
      in_flight: inFlight,
      summary,
      doc_uri,
    } = pactList.parse(await list.json())
    expect(none).toEqual([])
    expect(summary).toEqual({
      settled_count: 0,
      in_flight_count: 1,
      recorded_count: 0,
      settled_usdc: 0,
      last_settled_at: null,
    })
    expect(doc_uri).toBe(`${service.url}/pacts/SKILL.md`)
    const one = await get(`/api/v1/pacts/${id}`)
    expect(one.headers.get('cache-control')).toMatch(/^public, max-age=60\b/)
    expect(await one.json()).toEqual(inFlight[0])
    expect((await get('/api/v1/pacts/999')).status).toBe(404)
    expect((await get('/pacts/999/spec.json')).status).toBe(404)
  })

  test('count settled pacts', async () => {
    await settled()
    await look()
    const { summary } = pactList.parse(await (await get('/api/v1/pacts')).json())
    expect(summary).toMatchObject({
      settled_count: 1,
      in_flight_count: 0,
      settled_usdc: 12.5,
      last_settled_at: isoTime(genesisMs + 3 * dayMs + hourMs),
    })
  })

  test('list published settlements as recorded and unverified, with their sources', async () => {
    const authored = await loadAuthoredPacts(dataDir)
    const at = { siteUrl: service.url, nowMs: genesisMs }
    await publish(gatherPacts(ledger.database.reader, authored, at))
    const {
      recorded,
      settled: none,
      in_flight: inFlight,
    } = pactList.parse(await (await get('/api/v1/pacts')).json())
    expect(none).toEqual([])
    expect(recorded.map((pact) => [pact.pact_id, pact.verification])).toEqual(
      ['6', '8', '9', '11', '12', '13'].map((pactId) => [pactId, 'unverified']),
    )
    for (const pact of recorded) {
      expect(pact.source).toMatchObject({ kind: 'publication', noted_on: '2026-11-21' })
      expect(pact.published?.as).toBe('settled')
      expect(pact.confirmed).toEqual([])
      expect((await get(`/api/v1/pacts/${pact.pact_id}`)).status).toBe(200)
    }
    expect(inFlight).toMatchObject([
      { pact_id: '16', phase_status: 'blocked', confirmed_by: ['manifest'] },
    ])
    expect(inFlight[0]?.phase_blocker).toContain('deadline_passed: the deadline 2026-05-13')
  })

  test('mark a publication that the escrow confirms, and one that it contradicts', async () => {
    await submitted()
    const approval = await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
    await chain.create(deadlineMs, genesisMs + 4 * dayMs)
    ledger.hold(id + 9, manifestsOf(id + 9, deadlineMs))
    rmSync(join(ledger.dir, String(id)), { recursive: true })
    const claim = { published_as: 'settled', title: 'A claim', source: 'a post' }
    const good = { ...claim, pact_id: id, amount_pact: 300, worker, approve_tx: approval }
    const bad = { ...claim, pact_id: id + 1, amount_pact: 300 }
    const other = { ...claim, pact_id: 11, contract: `0x${'77'.repeat(20)}` }
    ledger.publish([good, bad, other, { ...claim, pact_id: 7 }])
    await look()
    const { recorded } = pactList.parse(await (await get('/api/v1/pacts')).json())
    const verdicts = recorded.map((pact) => [
      pact.pact_id,
      pact.verification,
      pact.confirmed.length,
      pact.contradictions,
    ])
    expect(verdicts).toEqual([
      ['7', 'contradicted', 0, ['the escrow has no pact 7']],
      ['11', 'unverified', 0, []],
      [String(id), 'confirmed', 4, []],
      [String(id + 1), 'contradicted', 1, ['status: published Completed, by the escrow Active']],
    ])
    expect((await ledger.openFlags()).map(({ subject }) => subject).toSorted()).toEqual(
      [`pact-${id + 1}`, 'pact-7'].toSorted(),
    )
  })
})

describe('the recipe of a pact', () => {
  test('works when its commands are run in order', async () => {
    await submitted()
    await look()
    const { in_flight: inFlight } = pactList.parse(await (await get('/api/v1/pacts')).json())
    const recipe = inFlight[0]?.verifier_recipe ?? []
    const found = recipe.map((step) => /`([^`]+)`/.exec(step)?.[1] ?? null)
    const steps = found.filter((step) => step !== null && !step.startsWith('agent-income-ledger'))
    expect(steps).toHaveLength(5)
    const outs: string[] = []
    for (const step of steps) {
      const { code, out, err } = await command('sh', ['-c', step ?? ''], { RPC: chain.url })
      expect([step, code, err]).toEqual([step, 0, ''])
      outs.push(out)
    }
    expect(outs[3]).toBe(manifests.workHash)
    expect(recipe[3]).toContain(`It prints ${manifests.workHash}.`)
    const words = /"result":"0x([0-9a-f]+)"/.exec(outs[4] ?? '')?.[1]?.match(/.{64}/g) ?? []
    expect(`0x${words[10]}`).toBe(manifests.workHash)
    expect(Number(`0x${words[11]}`)).toBe(1)
    const last = found.at(-1)?.replace('"$RPC"', chain.url).split(' ').slice(1) ?? []
    expect((await ledgerCommand(...last)).code).toBe(0)
  })
})

describe('the commands of the skill file', () => {
  const skill = readFileSync(
    new URL('../../../data/agent-skills/pacts/SKILL.md', import.meta.url),
    'utf8',
  )
  const block = (part: string): string => {
    const blocks = [...skill.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, text = '']) => text)
    return (blocks.find((text) => text.includes(part)) ?? '')
      .replaceAll('{SITE_URL}', service.url)
      .replaceAll('https://arb1.arbitrum.io/rpc', chain.url)
      .replace('ID=16', `ID=${id}`)
      .replace('verify 16', `verify ${id}`)
  }

  test('compute the hash, query the escrow, and check everything at once', async () => {
    await submitted()
    await look()
    const hash = await command('sh', ['-ec', block('reproduce.mjs')])
    expect(hash).toEqual({ code: 0, out: manifests.workHash, err: '' })
    const { out } = await command('sh', ['-ec', block('printf')])
    const words = /"result":"0x([0-9a-f]+)"/.exec(out)?.[1]?.match(/.{64}/g) ?? []
    expect(words).toHaveLength(12)
    expect(words[1]).toBe(worker.slice(2).padStart(64, '0'))
    expect(Number(`0x${words[5]}`) * 1000).toBe(deadlineMs)
    expect(`0x${words[10]}`).toBe(manifests.workHash)
    const [, , ...args] = block('pact verify').split(' ')
    expect((await ledgerCommand(...args)).code).toBe(0)
  })

  test('find the payment of a settled pact, and report one that disappeared', async () => {
    const [, script = ''] = /```js\n([\s\S]*?)\n```/.exec(skill) ?? []
    const file = join(dir, 'pact.mjs')
    writeFileSync(file, script.replaceAll('{BASE_URL}', `${service.url}/api/v1`))
    const run = async () => await command(process.execPath, [file, String(id), chain.url])
    await submitted()
    const before = await chain.snapshot()
    await look()
    expect((await run()).err).toContain(`pact ${id} is not settled`)
    await settledFrom()
    await look()
    expect(await run()).toEqual({ code: 0, out: 'paid 12.5 of 12.5 USDC', err: '' })
    await before()
    expect(await run()).toEqual({ code: 1, out: 'NOT CONFIRMED 0 of 12.5 USDC', err: '' })
  })
})

describe('the script that reproduces a hash', () => {
  async function script(): Promise<string> {
    await look()
    const answer = await get(`/pacts/${id}/reproduce.mjs`)
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const file = join(dir, 'reproduce.mjs')
    writeFileSync(file, await answer.text())
    return file
  }
  function save(name: string, json: object): string {
    const file = join(dir, name)
    writeFileSync(file, JSON.stringify(json, null, 4))
    return file
  }

  test('prints it from the served manifest, a URL or a file, in a process of its own', async () => {
    const file = await script()
    const url = `${service.url}/pacts/${id}/instance.json`
    const local = save('saved.json', { ...manifests.instance, more: 'stripped' })
    for (const args of [[], [url], [local], [local, `${service.url}/pacts/${id}/spec.json`]]) {
      const { code, out } = await command(process.execPath, [file, ...args])
      expect([args, code, out]).toEqual([args, 0, manifests.workHash])
    }
  })

  test.each([
    ['another chain', { chain_id: 1 }, 'wrong_chain: 1'],
    ['another contract', { contract_address: `0x${'01'.repeat(20)}` }, 'wrong_contract: 0x0101'],
    ['another pact', { pact_id: 5 }, 'wrong_pact: 5'],
    ['a version of the future', { spec_version: '999.0.0' }, 'unknown_spec_version: 999.0.0'],
    ['a missing field', { report: { title: 't', pages: 1 } }, 'missing_field: report.sha256'],
    [
      'a hash that its publisher claims wrongly',
      { workhash_claimed_by_publisher: '0x00' },
      'hash_divergence: the publisher claims 0x00',
    ],
  ])('refuses %s, and prints the hash all the same', async (_name, changes, refusal) => {
    const file = await script()
    const changed = save('changed.json', { ...manifests.instance, ...changes })
    const { code, out, err } = await command(process.execPath, [file, changed])
    expect(code).toBe(1)
    expect(out).toMatch(/^0x[0-9a-f]{64}$/)
    expect(err).toContain(refusal)
  })

  test('reports an unreachable manifest', async () => {
    const file = await script()
    const { code, out, err } = await command(process.execPath, [
      file,
      `${service.url}/nothing.json`,
    ])
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('manifest_unreachable: the instance cannot be read')
  })

  test('has the hash of every vector for the manifest of pact 16', async () => {
    const authored = await loadAuthoredPacts(dataDir)
    const at = { siteUrl: service.url, nowMs: genesisMs }
    await publish(gatherPacts(ledger.database.reader, authored, at))
    const file = join(dir, 'reproduce.mjs')
    writeFileSync(file, await (await get('/pacts/16/reproduce.mjs')).text())
    const vector = (name: string) =>
      new URL(`../../vectors/pact/${name}.json`, import.meta.url).pathname
    const clean = '0xa67d408151085fdb4fd484bac555fcbab3cfc60f1fb2cce861edadcc78183999'
    const outs = await Promise.all(
      [
        'at-clean-base-reference',
        'at-04-extra-fields',
        'at-03-wrong-chain-id',
        'at-10-unknown-spec-version',
      ].map(async (name) => {
        const { code, out } = await command(process.execPath, [file, vector(name)])
        return [code, out]
      }),
    )
    expect(outs).toEqual([
      [0, clean],
      [0, clean],
      [1, '0xa3450239751a482ab2ca7dfcdd76d7ed38bce0017c6fa638f9e32bf7150a253b'],
      [1, '0x996ed8f97c35af842b2edd3d782567cc5e77b5ca095a4345d3541cafcfbb6691'],
    ])
  })
})

/** One command line against this service. */
async function ledgerCommand(...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await run(commands, args, {
    environment: { LEDGER_URL: service.url },
    clock: { ...systemClock, now: () => genesisMs + 5 * dayMs },
    random: systemRandom,
    fetch,
    write: (text) => {
      out += text
    },
    warn: (text) => {
      err += text
    },
  })
  return { code, out, err }
}
async function verify(rpc = chain.url, ...more: readonly string[]) {
  return await ledgerCommand('pact', 'verify', String(id), '--rpc', rpc, ...more)
}

describe('pact verify', () => {
  test('confirms a pact in flight in three ways, with a line for each check', async () => {
    await submitted()
    await look()
    const { code, out } = await verify()
    expect(code).toBe(0)
    expect(out).toMatch(/^good {2}signature by [0-9a-f]{16}: active key$/m)
    expect(out).toContain('good  record: in flight, submitted\n')
    expect(out).toContain(`bytes hash to ${manifests.workHash} (`)
    expect(out).toContain('good  manifest and record: the ledger states the same hash\n')
    expect(out).toContain('good  escrow: WorkSubmitted, 300 PACT from')
    expect(out).toContain(
      'good  escrow and manifest: the submitted work has the hash of the manifest',
    )
    expect(out.endsWith('All checks passed.\n')).toBe(true)
    const json: unknown = JSON.parse((await verify(chain.url, '--json')).out)
    expect(json).toMatchObject({ pact_id: String(id), state: 'in_flight', good: true })
  })

  test('finds the payment of a settled pact in its transaction', async () => {
    await settled()
    await look()
    const { code, out } = await verify()
    expect(out).toContain('good  payment: 12.5 of 12.5 USDC went from payer to worker in 0x')
    expect(out).toContain('good  finality: ')
    expect(out).toContain('good  escrow and record: payer and worker match')
    expect(code).toBe(0)
  })

  test('does not confirm a settled pact after a chain reorganisation', async () => {
    await submitted()
    const before = await chain.snapshot()
    await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
    const paidMs = genesisMs + 3 * dayMs + hourMs
    const txHash = await chain.pay(creator, worker, 12_500_000, paidMs)
    ledger.at(paidMs)
    await ledger.receipt({ id: '1', pactId: id, txHash, from: creator, to: worker })
    await chain.mine(20)
    ledger.at((await chain.headTimeMs()) + minuteMs)
    await ledger.checkReceipts()
    await look()
    await before()
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain('BAD   payment: the node does not know the transaction')
  })

  test.each([
    ['another chain', { chain_id: 1 }, 'wrong_chain: the instance names chain 1'],
    ['a missing field', { report: { title: 'x', pages: 1 } }, 'missing_field: '],
    ['an unknown version', { spec_version: '9.0.0' }, 'unknown_spec_version: '],
    ['a wrong claim', { workhash_claimed_by_publisher: '0x1' }, 'hash_divergence: the publisher'],
  ])('refuses a manifest with %s', async (_name, changes, refusal) => {
    ledger.hold(id, { ...manifests, instance: { ...manifests.instance, ...changes } })
    await submitted()
    await look()
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain(`BAD   manifest: ${refusal}`)
  })

  test('does not confirm a settled pact when the escrow has not paid', async () => {
    await submitted()
    const before = await chain.snapshot()
    await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
    await look()
    const paidMs = genesisMs + 3 * dayMs + hourMs
    const txHash = await chain.pay(creator, worker, 12_500_000, paidMs)
    const [pact] = (await ledger.pacts(service.url)).inFlight
    if (pact === undefined) throw new Error('no pact is in flight')
    await before()
    const { pact_id, job_id, confirmed_by } = pact
    const boast = {
      pact_id,
      job_id,
      confirmed_by,
      state: 'settled' as const,
      chain: 'arbitrum',
      tx_hash: txHash,
      explorer_url: `https://arbiscan.io/tx/${txHash}`,
      receipt_id: `rcp_${'1'.repeat(64)}`,
      amount_usdc: 12.5,
      payer: creator,
      worker,
      block_number: 1,
      settled_at: isoTime(paidMs),
    }
    const pacts = await ledger.pacts(service.url)
    await publish(Promise.resolve({ ...pacts, inFlight: [], settled: [boast] }))
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain('BAD   escrow and record: ledger: settled; escrow: WorkSubmitted')
  })

  test('rejects work with another hash than its manifest', async () => {
    await submitted(`0x${'99'.repeat(32)}`)
    await look()
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain(
      'BAD   escrow and manifest: hash_divergence: the submitted work has 0x9999',
    )
  })

  test('rejects a pact whose deadline passed without work', async () => {
    const soonMs = genesisMs + 2 * dayMs
    ledger.hold(id, manifestsOf(id, soonMs))
    await chain.create(soonMs, genesisMs + dayMs)
    await look()
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain(
      `BAD   deadline: deadline_passed: no work was submitted by ${isoTime(soonMs)}`,
    )
  })

  test('reports a manifest that is not served as unreachable', async () => {
    await submitted()
    ledger.at((await chain.headTimeMs()) + minuteMs)
    await ledger.check()
    const pacts = await ledger.pacts(service.url)
    const gone = pacts.inFlight.map((pact) => ({ ...pact, spec_uri: `${service.url}/gone.json` }))
    await publish(Promise.resolve({ ...pacts, inFlight: gone }))
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain('BAD   manifest: manifest_unreachable: the specification cannot be read')
  })

  test('reports a ledger that claims more than the escrow, and a node of another chain', async () => {
    await chain.create(deadlineMs, genesisMs + dayMs)
    await look()
    const pacts = await ledger.pacts(service.url)
    const boasting = pacts.inFlight.map((pact) => ({ ...pact, phase_status: 'verifying' as const }))
    await publish(Promise.resolve({ ...pacts, inFlight: boasting }))
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain('BAD   escrow and record: ledger: verifying; escrow: Active')
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_chainId' ? answer.replace('0xa4b1', '0x1') : answer,
    })
    const other = await verify(proxy.url)
    expect(other.code).toBe(1)
    expect(other.out).toContain('BAD   chain: wrong_chain: the node serves chain 1, not 42161')
    await proxy.stop()
  })

  test('exits with 3 for a dead node, 2 for a wrong command line, 1 for an unknown pact', async () => {
    await look()
    expect((await verify('http://127.0.0.1:9')).code).toBe(3)
    expect((await ledgerCommand('pact', 'verify', 'x', '--rpc', chain.url)).code).toBe(2)
    expect((await ledgerCommand('pact', 'verify', String(id))).code).toBe(2)
    const nobody = await ledgerCommand('pact', 'verify', '999', '--rpc', chain.url)
    expect(nobody.code).toBe(1)
    expect(nobody.out).toContain('BAD   record: the ledger has no pact 999')
  })

  test('checks signer, time and hash of attestations, and counts each once', async () => {
    const signer = evmWallet('attesting worker')
    await chain.rpc('anvil_setBalance', [signer.address, '0xde0b6b3a7640000'])
    await chain.act(
      creator,
      'create',
      [signer.address, creator, 10n ** 18n, 0n, BigInt(deadlineMs / 1000), 60n, 60n],
      genesisMs + dayMs,
    )
    await look()
    const unsigned = {
      attestation_id: 'run-1',
      chain_id: pactEscrow.chainId,
      contract_address: pactEscrow.address,
      pact_id: id,
      work_hash: manifests.workHash,
      attested_at: isoTime(genesisMs + 2 * dayMs),
    }
    const signed = { ...unsigned, signature: await signer.sign(attestationMessage(unsigned)) }
    const late = { ...unsigned, attestation_id: 'run-2', attested_at: isoTime(deadlineMs + 1000) }
    const stranger = evmWallet('a stranger')
    const file = join(dir, 'attestations.json')
    writeFileSync(file, JSON.stringify(signed))
    expect((await verify(chain.url, '--attestations', file)).code).toBe(0)
    writeFileSync(
      file,
      JSON.stringify([
        signed,
        signed,
        { ...late, signature: await signer.sign(attestationMessage(late)) },
        {
          ...unsigned,
          attestation_id: 'run-3',
          signature: await stranger.sign(
            attestationMessage({ ...unsigned, attestation_id: 'run-3' }),
          ),
        },
      ]),
    )
    const { code, out } = await verify(chain.url, '--attestations', file)
    expect(code).toBe(1)
    expect(out).toContain('good  attestation run-1: signed by the worker')
    expect(out).toContain('BAD   attestation run-1: replay: ')
    expect(out).toContain('BAD   attestation run-2: deadline_passed: ')
    expect(out).toContain('BAD   attestation run-3: wrong_signer: ')
  })
})
