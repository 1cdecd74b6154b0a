import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { z } from 'zod'

import { demoRulesFile } from '../../builder/world/demo-rules.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { dayMs, isoDate, isoTime } from '../../src/core/time.ts'
import { demoMarkerPath, isDemoFolder } from '../../src/runtime/demo.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { freePort } from '../../test/support/server-process.ts'
import { demoAdapters } from './adapters.ts'
import { demoPlatform, keyOf } from './calls.ts'
import { liveMonths } from './history.ts'
import { authoredRail, demoRails, pactRail } from './rails.ts'
import { noiseOf, walletOf } from './world.ts'

const program = join(packageRoot, 'dist/src/main.js')

/** All links of a demo have its own port, unless `SITE_URL` is set. */
export async function demoSettings(dataDir: string): Promise<Readonly<Record<string, string>>> {
  const { PORT: given = '8787', SITE_URL: siteUrl = '' } = process.env
  const port = given === '0' ? String(await freePort()) : given
  return {
    DEMO: 'on',
    DATA_DIR: dataDir,
    PUBLIC_DIR: join(dataDir, 'public'),
    DATABASE_URL: '',
    SERVICE_NAME: 'agent-income-ledger-demo',
    PORT: port,
    SITE_URL: siteUrl === '' ? `http://localhost:${port}` : siteUrl,
    POLL: 'off',
    POLL_EVERY_MINUTES: '1440',
  }
}

/** Leaves an existing demo folder as it is. @throws Error for any other existing folder */
export async function prepareDemoFolder(settings: Readonly<Record<string, string>>): Promise<void> {
  const dataDir = settings['DATA_DIR'] ?? ''
  if (isDemoFolder(dataDir)) return
  if (existsSync(dataDir)) {
    throw new Error(`${dataDir} exists and is not a demo folder: choose another DATA_DIR`)
  }
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(
    demoMarkerPath(dataDir),
    'Created by `npm run demo` with invented data. You can delete this folder.\n',
  )
  const nowMs = Date.now()
  const correctPact = writeAuthored(dataDir, nowMs)
  await liveMonths(settings, { nowMs, correctPact })
}

/** Of the real `data`, only what names no rail. Returns how to correct the manifest of a pact, which is wrong at first. */
function writeAuthored(dataDir: string, nowMs: number): () => void {
  const source = join(packageRoot, 'data')
  const authored = join(dataDir, 'authored')
  const kept = ['agent-skills', 'docs', 'oaths.json', 'tiers.json', 'rails/job_exchange.json']
  for (const name of [...kept, 'pacts/reproduce.mjs']) {
    cpSync(join(source, name), join(authored, name), { recursive: true, dereference: true })
  }
  cpSync(join(packageRoot, 'CHANGELOG.md'), join(dataDir, 'CHANGELOG.md'))
  const write = (name: string, value: object | string) => {
    const path = join(authored, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  }
  for (const demo of [...demoRails, pactRail]) {
    write(`rails/${demo.rail}.json`, authoredRail(demo, nowMs))
  }
  write(
    demoRulesFile,
    demoAdapters.map(({ rail, rule }) => ({ rail, rule })),
  )
  write('skills.json', skillsOf(readFileSync(join(source, 'skills.json'), 'utf8')))
  const { platform, name } = demoPlatform
  const rails = demoRails.map(({ rail }) => rail)
  const { publicKey } = keyOf(platform)
  const added_at = isoTime(nowMs - 100 * dayMs)
  write('platforms.json', {
    platforms: [{ platform, name, public_key: publicKey, rails, added_at }],
  })
  write(
    'desk/how-this-demo-came-about.md',
    `---\ntitle: How this demo came about\ndate: ${isoDate(nowMs - 100 * dayMs)}\nexcerpt: Which parts of this ledger are invented, and which are real.\nkeywords: [demo, method]\n---\n\nEverybody and everything here is invented: the rails, their customers and workers, the payments and the reports. The code is real. Four months of invented payments were read from invented chains and APIs, day by day, and the rules of the [documentation](/docs/rules) judged them. Workers and partners signed every call.\n`,
  )
  for (const [id, title] of [
    [41, 'A survey of tide tables'],
    [42, 'A catalogue of bell founders'],
    [43, 'A map of dry stone walls'],
  ] as const) {
    writePact(write, { id, title, nowMs, chainId: id === 43 ? 1 : pactEscrow.chainId })
  }
  write('pacts/published.json', {
    noted_on: isoDate(nowMs - 20 * dayMs),
    note: 'Invented for a demo.',
    pacts: [
      [36, 'settled', 'A concordance of sea shanties', 1800],
      [38, 'settled', 'A register of lighthouse keepers', 950],
      [45, 'in_flight', 'An index of ferry routes', 2400],
    ].map(([pact_id, published_as, title, amount_pact]) => {
      return { pact_id, published_as, title, amount_pact, source: 'An invented post' }
    }),
  })
  const { chainId } = pactEscrow
  return () => writePact(write, { id: 43, title: 'A map of dry stone walls', nowMs, chainId })
}

function writePact(
  write: (name: string, value: object) => void,
  pact: {
    readonly id: number
    readonly title: string
    readonly nowMs: number
    readonly chainId: number
  },
): void {
  const { id, title, nowMs, chainId } = pact
  const identity = {
    spec_version: '3.0.0',
    pact_id: id,
    chain_id: chainId,
    contract_address: pactEscrow.address,
  }
  const updated_at = isoTime(nowMs - 50 * dayMs)
  write(`pacts/${id}/pact.json`, { pact_id: id, title, updated_at, source: 'Invented for a demo.' })
  write(`pacts/${id}/spec.json`, {
    ...identity,
    manifest_kind: 'report',
    title,
    deadline: isoDate(nowMs + 40 * dayMs),
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
    source: 'Invented for a demo.',
  })
  const sha256 = walletOf(title).slice(2).padEnd(64, '0')
  write(`pacts/${id}/instance.json`, { ...identity, report: { title, sha256, pages: id } })
}

const taxonomyShape = z.looseObject({ skills: z.array(z.looseObject({ slug: z.string() })) })

/** The skills with one to three invented rails each. */
function skillsOf(text: string): object {
  const { skills, ...taxonomy } = taxonomyShape.parse(JSON.parse(text))
  const rails = demoRails.filter(({ category }) => category === 'earning')
  const surfaceOf = (slug: string) => {
    const noise = noiseOf(slug)
    const chosen = new Set([noise(), noise(), noise()].map((at) => Math.floor(at * rails.length)))
    return rails.filter((_, at) => chosen.has(at)).map(({ rail }) => rail)
  }
  return { ...taxonomy, skills: skills.map((one) => ({ ...one, surface: surfaceOf(one.slug) })) }
}

/** Standard output is piped. */
export function startService(settings: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [program], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
