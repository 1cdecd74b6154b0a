import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'

import { loadAuthoredPacts } from '../../../builder/world/authored-pacts.ts'
import { gatherPacts } from '../../../builder/world/pacts.ts'
import type { PactsWorld } from '../../../builder/world/pacts.ts'
import { pactList } from '../../../src/contract/schemas/pact.ts'
import { attestationMessage } from '../../../src/core/pact/check.ts'
import { pactEscrow } from '../../../src/core/pact/escrow.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { execute, runCommand } from '../../support/command-line.ts'
import type { CommandResult } from '../../support/command-line.ts'
import { sampleDocuments } from '../../support/http-service.ts'
import { serveDuringTest } from '../../support/local-server.ts'
import { manifestsOf } from '../../support/pact-ledger.ts'
import { proxyDuringTest } from '../../support/rpc-proxy.ts'
import { documentsOf } from '../../support/site.ts'
import { useService } from '../../support/use-service.ts'
import { evmWallet } from '../../support/wallets.ts'
import { smallWorld } from '../../support/world.ts'
import {
  creator,
  deadlineMs,
  genesisMs,
  id,
  manifests,
  paidMs,
  usePact,
  worker,
} from './use-pact.ts'

const dataDir = new URL('../../../data/pacts', import.meta.url).pathname
const service = useService({ documents: sampleDocuments.slice(0, 1), per: 'file' })
const pact = usePact()
let dir: string

beforeEach(() => {
  dir = tempFolder()
})

async function publishPacts(pacts: PactsWorld): Promise<void> {
  const world = smallWorld()
  const reproduceScript = await readFile(join(dataDir, 'reproduce.mjs'), 'utf8')
  const { publicKeys, publish } = service.published
  const documents = documentsOf({
    ...world,
    site: { ...world.site, url: service.url },
    pacts: { ...pacts, reproduceScript },
    signingKeys: { keys: publicKeys.keys.map((key) => ({ ...key })) },
  })
  await publish([...documents].filter(({ path }) => /pact|signing-keys/.test(path)))
  await service.store.reload()
}

async function readAndPublish(): Promise<void> {
  await pact.read()
  await publishPacts(await pact.ledger.pacts(service.url))
}

async function publishAuthored(): Promise<void> {
  const at = { siteUrl: service.url, nowMs: genesisMs }
  const { reader } = pact.ledger.database
  await publishPacts(await gatherPacts(reader, await loadAuthoredPacts(dataDir), at))
}

async function submitted(hash?: string): Promise<void> {
  await pact.create()
  await pact.submit(hash)
}
async function approvedAndPaid(): Promise<void> {
  await pact.approve()
  await pact.pay()
  await pact.settle()
}

async function get(path: string): Promise<Response> {
  return await fetch(`${service.url}${path}`)
}
const listPacts = async () => pactList.parse(await (await get('/api/v1/pacts')).json())

async function command(
  file: string,
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  return await execute(file, args, dir, environment)
}

/** The words of 32 bytes in the answer of a node. */
const wordsOf = (out = '') => /"result":"0x([0-9a-f]+)"/.exec(out)?.[1]?.match(/.{64}/g) ?? []

describe('the documents of pacts', () => {
  test('documents of pacts are served with their max-age, and an unknown pact is a 404', async () => {
    await readAndPublish()
    const list = await get('/api/v1/pacts')
    expect(list.headers.get('cache-control')).toMatch(/^public, max-age=60\b/)
    const { settled, in_flight: inFlight, summary, doc_uri } = pactList.parse(await list.json())
    expect(settled).toEqual([])
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

  test('the list of pacts shows published settlements as recorded and unverified, with their sources', async () => {
    await publishAuthored()
    const { recorded, settled, in_flight: inFlight } = await listPacts()
    expect(settled).toEqual([])
    expect(recorded.map((one) => [one.pact_id, one.verification])).toEqual(
      ['6', '8', '9', '11', '12', '13'].map((pactId) => [pactId, 'unverified']),
    )
    for (const one of recorded) {
      expect(one.source).toMatchObject({ kind: 'publication', noted_on: '2026-11-21' })
      expect(one.published?.as).toBe('settled')
      expect(one.confirmed).toEqual([])
      expect((await get(`/api/v1/pacts/${one.pact_id}`)).status).toBe(200)
    }
    expect(inFlight).toMatchObject([
      { pact_id: '16', phase_status: 'blocked', confirmed_by: ['manifest'] },
    ])
    expect(inFlight[0]?.phase_blocker).toContain('deadline_passed: the deadline 2026-05-13')
  })

  test('a publication that the escrow confirms is marked, and so is one that the escrow contradicts', async () => {
    await submitted()
    const approval = await pact.approve()
    await pact.chain.create(deadlineMs, genesisMs + 4 * dayMs)
    pact.ledger.addManifests(id + 9, manifestsOf(id + 9, deadlineMs))
    rmSync(join(pact.ledger.dir, String(id)), { recursive: true })
    const claim = { published_as: 'settled', title: 'A claim', source: 'a post' }
    pact.ledger.publish([
      { ...claim, pact_id: id, amount_pact: 300, worker, approve_tx: approval },
      { ...claim, pact_id: id + 1, amount_pact: 300 },
      { ...claim, pact_id: 11, contract: `0x${'77'.repeat(20)}` },
      { ...claim, pact_id: 7 },
    ])
    await readAndPublish()
    const { recorded } = await listPacts()
    const notActive = 'status: published as Completed, but the escrow has Active'
    expect(
      recorded.map((one) => [one.pact_id, one.confirmed.length, ...one.contradictions]),
    ).toEqual([
      ['7', 0, 'the escrow has no pact 7'],
      ['11', 0],
      [String(id), 4],
      [String(id + 1), 1, notActive],
    ])
    const verifications = recorded.map(({ verification }) => verification)
    expect(verifications).toEqual(['contradicted', 'unverified', 'confirmed', 'contradicted'])
    const subjects = (await pact.ledger.openFlags()).map(({ subject }) => subject)
    expect(new Set(subjects)).toEqual(new Set([`pact-${id + 1}`, 'pact-7']))
  })
})

test('the recipe of a pact works when its commands are run in order', async () => {
  await submitted()
  await readAndPublish()
  const recipe = (await listPacts()).in_flight[0]?.verifier_recipe ?? []
  const steps = recipe.map((step) => /`([^`]+)`/.exec(step)?.[1] ?? '')
  const shellSteps = steps.filter((step) => !/^$|^agent-income-ledger/.test(step))
  expect(shellSteps).toHaveLength(5)
  const outs: string[] = []
  for (const step of shellSteps) {
    const { code, out, err } = await command('sh', ['-c', step], { RPC: pact.chain.url })
    expect([step, code, err]).toEqual([step, 0, ''])
    outs.push(out)
  }
  expect(outs[3]).toBe(manifests.workHash)
  expect(recipe[3]).toContain(`It prints ${manifests.workHash}.`)
  const words = wordsOf(outs[4])
  expect(`0x${words[10]}`).toBe(manifests.workHash)
  expect(Number(`0x${words[11]}`)).toBe(1)
  const last = steps.at(-1)?.replace('"$RPC"', pact.chain.url).split(' ').slice(1) ?? []
  expect((await ledgerCommand(...last)).code).toBe(0)
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
      .replaceAll('https://arb1.arbitrum.io/rpc', pact.chain.url)
      .replaceAll('{PACT}', String(id))
  }

  test('commands of the pacts skill compute the hash, query the escrow and check everything at once', async () => {
    await submitted()
    await readAndPublish()
    const hash = await command('sh', ['-ec', block('reproduce.mjs')])
    expect(hash).toEqual({ code: 0, out: manifests.workHash, err: '' })
    const words = wordsOf((await command('sh', ['-ec', block('printf')])).out)
    expect(words).toHaveLength(12)
    expect(words[1]).toBe(worker.slice(2).padStart(64, '0'))
    expect(Number(`0x${words[5]}`) * 1000).toBe(deadlineMs)
    expect(`0x${words[10]}`).toBe(manifests.workHash)
    const [, , ...args] = block('pact verify').split(' ')
    expect((await ledgerCommand(...args)).code).toBe(0)
  })

  test('the script of the pacts skill finds the payment of a settled pact and reports one that disappeared', async () => {
    const [, script = ''] = /```js\n([\s\S]*?)\n```/.exec(skill) ?? []
    const file = join(dir, 'pact.mjs')
    writeFileSync(file, script.replaceAll('{BASE_URL}', `${service.url}/api/v1`))
    const check = async () => await command(process.execPath, [file, String(id), pact.chain.url])
    await submitted()
    const undo = await pact.chain.snapshot()
    await readAndPublish()
    expect((await check()).err).toContain(`pact ${id} is not settled`)
    await approvedAndPaid()
    await readAndPublish()
    expect(await check()).toEqual({ code: 0, out: 'paid 12.5 of 12.5 USDC', err: '' })
    await undo()
    expect(await check()).toEqual({ code: 1, out: 'NOT CONFIRMED 0 of 12.5 USDC', err: '' })
  })
})

describe('the script that reproduces a hash', () => {
  async function saveScript(pactId: number | string = id): Promise<string> {
    const answer = await get(`/pacts/${pactId}/reproduce.mjs`)
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const file = join(dir, 'reproduce.mjs')
    writeFileSync(file, await answer.text())
    return file
  }
  function save(json: object): string {
    const file = join(dir, 'instance.json')
    writeFileSync(file, JSON.stringify(json, null, 4))
    return file
  }
  const node = async (...args: readonly string[]) => await command(process.execPath, args)

  test('reproduce.mjs prints the hash from the served manifest, a URL or a file', async () => {
    await readAndPublish()
    const file = await saveScript()
    const url = `${service.url}/pacts/${id}/instance.json`
    const local = save({ ...manifests.instance, more: 'stripped' })
    for (const args of [[], [url], [local], [local, `${service.url}/pacts/${id}/spec.json`]]) {
      const { code, out } = await node(file, ...args)
      expect([args, code, out]).toEqual([args, 0, manifests.workHash])
    }
  })

  test.each([
    ['another chain', { chain_id: 1 }, 'wrong_chain: 1'],
    ['another contract', { contract_address: `0x${'01'.repeat(20)}` }, 'wrong_contract: 0x0101'],
    ['another pact', { pact_id: 5 }, 'wrong_pact: 5'],
    ['a version of the future', { spec_version: '999.0.0' }, 'unknown_spec_version: 999.0.0'],
    ['a missing field', { report: { title: 't', pages: 1 } }, 'missing_field: report.sha256'],
    ['a wrong claim', { workhash_claimed_by_publisher: '0x00' }, 'the publisher claims 0x00'],
  ])('reproduce.mjs refuses %s and still prints the hash', async (_name, changes, refusal) => {
    await readAndPublish()
    const changed = save({ ...manifests.instance, ...changes })
    const { code, out, err } = await node(await saveScript(), changed)
    expect(code).toBe(1)
    expect(out).toMatch(/^0x[0-9a-f]{64}$/)
    expect(err).toContain(refusal)
  })

  test('reproduce.mjs reports an unreachable manifest', async () => {
    await readAndPublish()
    const { code, out, err } = await node(await saveScript(), `${service.url}/nothing.json`)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('manifest_unreachable: the instance cannot be read')
  })

  test('reproduce.mjs prints the published hash of every vector for pact 16', async () => {
    await publishAuthored()
    const file = await saveScript(16)
    const clean = '0xa67d408151085fdb4fd484bac555fcbab3cfc60f1fb2cce861edadcc78183999'
    const wrongChain = '0xa3450239751a482ab2ca7dfcdd76d7ed38bce0017c6fa638f9e32bf7150a253b'
    const unknownVersion = '0x996ed8f97c35af842b2edd3d782567cc5e77b5ca095a4345d3541cafcfbb6691'
    const expected = {
      'at-clean-base-reference': [0, clean],
      'at-04-extra-fields': [0, clean],
      'at-03-wrong-chain-id': [1, wrongChain],
      'at-10-unknown-spec-version': [1, unknownVersion],
    }
    const found: Record<string, unknown> = {}
    for (const name of Object.keys(expected)) {
      const vector = new URL(`../../vectors/pact/${name}.json`, import.meta.url).pathname
      const { code, out } = await node(file, vector)
      found[name] = [code, out]
    }
    expect(found).toEqual(expected)
  })
})

async function ledgerCommand(...args: readonly string[]): Promise<CommandResult> {
  const clock = { ...systemClock, now: () => genesisMs + 5 * dayMs }
  return await runCommand(args, { LEDGER_URL: service.url }, { clock, fetch })
}

async function verify(rpc = pact.chain.url, ...more: readonly string[]) {
  return await ledgerCommand('pact', 'verify', String(id), '--rpc', rpc, ...more)
}

describe('pact verify', () => {
  test('pact verify confirms a pact in flight in three ways, with a line for each check', async () => {
    await submitted()
    await readAndPublish()
    const { code, out } = await verify()
    expect(code).toBe(0)
    expect(out).toMatch(/^good {2}signature by [0-9a-f]{16}: active key$/m)
    for (const line of [
      'good  record: in flight, submitted\n',
      `bytes hash to ${manifests.workHash} (`,
      'good  manifest and record: the ledger states the same hash\n',
      'good  escrow: WorkSubmitted, 300 PACT from',
      'good  escrow and manifest: the submitted work has the hash of the manifest',
    ]) {
      expect(out).toContain(line)
    }
    expect(out.endsWith('All checks passed.\n')).toBe(true)
    const json: unknown = JSON.parse((await verify(pact.chain.url, '--json')).out)
    expect(json).toMatchObject({ pact_id: String(id), state: 'in_flight', good: true })
  })

  test('pact verify confirms a settled pact until a reorganisation removes its payment', async () => {
    await submitted()
    const undo = await pact.chain.snapshot()
    await approvedAndPaid()
    await readAndPublish()
    expect((await listPacts()).summary).toMatchObject({
      settled_count: 1,
      in_flight_count: 0,
      settled_usdc: 12.5,
      last_settled_at: isoTime(paidMs),
    })
    const { code, out } = await verify()
    expect(code).toBe(0)
    expect(out).toContain('good  payment: 12.5 of 12.5 USDC went from payer to worker in 0x')
    expect(out).toContain('good  finality: ')
    expect(out).toContain('good  escrow and record: payer and worker match')
    await undo()
    const after = await verify()
    expect(after.code).toBe(1)
    expect(after.out).toContain('BAD   payment: the node does not know the transaction')
    expect(after.out).toContain('BAD   escrow and record: ledger: settled; escrow: WorkSubmitted')
  })

  async function withManifest(changes: object): Promise<void> {
    pact.ledger.addManifests(id, { ...manifests, instance: { ...manifests.instance, ...changes } })
    await submitted()
    await readAndPublish()
  }
  async function publishInFlight(changes: Partial<PactsWorld['inFlight'][number]>): Promise<void> {
    await pact.read()
    const pacts = await pact.ledger.pacts(service.url)
    const inFlight = pacts.inFlight.map((one) => ({ ...one, ...changes }))
    await publishPacts({ ...pacts, inFlight })
  }
  const soonMs = genesisMs + 2 * dayMs

  test.each<readonly [string, () => Promise<void>, string]>([
    [
      'a manifest of another chain',
      async () => await withManifest({ chain_id: 1 }),
      'manifest: wrong_chain: the instance names chain 1',
    ],
    [
      'work with another hash than its manifest',
      async () => {
        await submitted(`0x${'99'.repeat(32)}`)
        await readAndPublish()
      },
      'escrow and manifest: hash_divergence: the submitted work has 0x9999',
    ],
    [
      'a pact whose deadline passed without work',
      async () => {
        pact.ledger.addManifests(id, manifestsOf(id, soonMs))
        await pact.chain.create(soonMs, genesisMs + dayMs)
        await readAndPublish()
      },
      `deadline: deadline_passed: no work was submitted by ${isoTime(soonMs)}`,
    ],
    [
      'a manifest that is not served',
      async () => {
        await submitted()
        await pact.read()
        await publishPacts({ ...(await pact.ledger.pacts(service.url)), manifests: [] })
      },
      'manifest: manifest_unreachable: the specification cannot be read',
    ],
    [
      'a ledger that claims more than the escrow',
      async () => {
        await pact.create()
        await publishInFlight({ phase_status: 'verifying' })
      },
      'escrow and record: ledger: verifying; escrow: Active',
    ],
  ])('pact verify rejects %s', async (_name, publish, finding) => {
    await publish()
    const { code, out } = await verify()
    expect(code).toBe(1)
    expect(out).toContain(`BAD   ${finding}`)
  })

  test('pact verify never follows the manifest addresses in the record of a pact', async () => {
    let requests = 0
    const elsewhere = await serveDuringTest((_, response) => {
      requests += 1
      response.end('{}')
    })
    await submitted()
    await publishInFlight({ spec_uri: elsewhere, instance_uri: `${elsewhere}/metadata` })
    expect([(await verify()).code, requests]).toEqual([0, 0])
  })

  test('pact verify rejects a node of another chain', async () => {
    await readAndPublish()
    const { url } = await proxyDuringTest(pact.chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_chainId' ? answer.replace('0xa4b1', '0x1') : answer,
    })
    const { code, out } = await verify(url)
    expect(code).toBe(1)
    expect(out).toContain(
      'BAD   chain: wrong_chain: arbitrum RPC: the node serves chain 1, not 42161',
    )
  })

  test('pact verify exits with 3 for a dead node, 2 for a wrong command line, 1 for an unknown pact', async () => {
    await readAndPublish()
    expect((await verify('http://127.0.0.1:9')).code).toBe(3)
    expect((await ledgerCommand('pact', 'verify', 'x', '--rpc', pact.chain.url)).code).toBe(2)
    expect((await ledgerCommand('pact', 'verify', String(id))).code).toBe(2)
    const nobody = await ledgerCommand('pact', 'verify', '999', '--rpc', pact.chain.url)
    expect(nobody.code).toBe(1)
    expect(nobody.out).toContain('BAD   record: the ledger has no pact 999')
  })

  test('pact verify checks the signature of each attestation, and counts each once', async () => {
    const signer = evmWallet('attesting worker')
    await pact.chain.rpc('anvil_setBalance', [signer.address, '0xde0b6b3a7640000'])
    await pact.chain.act(
      creator,
      'create',
      [signer.address, creator, 10n ** 18n, 0n, BigInt(deadlineMs / 1000), 60n, 60n],
      genesisMs + dayMs,
    )
    await readAndPublish()
    const unsigned = {
      attestation_id: 'run-1',
      chain_id: pactEscrow.chainId,
      contract_address: pactEscrow.address,
      pact_id: id,
      work_hash: manifests.workHash,
      attested_at: isoTime(genesisMs + 2 * dayMs),
    }
    const signed = { ...unsigned, signature: await signer.sign(attestationMessage(unsigned)) }
    const foreign = { ...signed, attestation_id: 'run-2' }
    const file = join(dir, 'attestations.json')
    writeFileSync(file, JSON.stringify(signed))
    expect((await verify(pact.chain.url, '--attestations', file)).code).toBe(0)
    writeFileSync(file, JSON.stringify([signed, signed, foreign]))
    const { code, out } = await verify(pact.chain.url, '--attestations', file)
    expect(code).toBe(1)
    expect(out).toContain('good  attestation run-1: signed by the worker')
    expect(out).toContain('BAD   attestation run-1: replay: ')
    expect(out).toContain('BAD   attestation run-2: wrong_signer: ')
  })
})
