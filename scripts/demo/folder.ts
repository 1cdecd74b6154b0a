import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { demoRulesFile } from '../../builder/world/demo-rules.ts'
import taxonomy from '../../data/skills.json' with { type: 'json' }
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import { demoMarkerPath, isDemoFolder } from '../../src/runtime/demo.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { freePort } from '../../test/support/server-process.ts'
import { keyOf } from './calls.ts'
import authored from './data/authored.json' with { type: 'json' }
import { liveMonths } from './history.ts'
import { digest, noiseOf } from './payments.ts'
import { authoredRail, demoRails } from './rails.ts'
import { demoAdapters } from './sources.ts'

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
  const dateOf = (_: string, days: string) => isoDate(nowMs - Number(days) * dayMs)
  /** Replaces `{day 20}` by the date 20 days ago. */
  const write: Write = (name, value) => {
    const path = join(dataDir, 'authored', name)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.replaceAll(/\{day (-?\d+)\}/g, dateOf))
  }
  // Of the real `data`, only what names no rail.
  for (const name of authored.copied) {
    const to = join(dataDir, 'authored', name)
    cpSync(join(packageRoot, 'data', name), to, { recursive: true, dereference: true })
  }
  cpSync(join(packageRoot, 'CHANGELOG.md'), join(dataDir, 'CHANGELOG.md'))
  writeAuthored(write)
  writePacts(write, 'wrong')
  await liveMonths(settings, nowMs, () => writePacts(write, 'correct'))
}

type Write = (name: string, value: object | string) => void

function writeAuthored(write: Write): void {
  for (const demo of demoRails) write(`rails/${demo.rail}.json`, authoredRail(demo))
  const rules = demoAdapters.map(({ rail, rule }) => ({ rail, rule }))
  write(demoRulesFile, rules)
  const earning = demoRails.filter(({ category }) => category === 'earning')
  /** One to three invented rails. */
  const surfaceOf = (slug: string) => {
    const noise = noiseOf(slug)
    const chosen = [noise(), noise(), noise()].map((at) => Math.floor(at * earning.length))
    return earning.filter((_, at) => chosen.includes(at)).map(({ rail }) => rail)
  }
  const skills = taxonomy.skills.map((skill) => ({ ...skill, surface: surfaceOf(skill.slug) }))
  write('skills.json', { ...taxonomy, skills })
  const { platform, article, publishedPacts } = authored
  const rails = demoRails.map(({ rail }) => rail)
  const { publicKey: public_key } = keyOf(platform.platform)
  write('platforms.json', { platforms: [{ ...platform, public_key, rails }] })
  write('desk/how-this-demo-came-about.md', article)
  write('pacts/published.json', publishedPacts)
}

/** `wrong`: the manifest of one pact names another chain. */
function writePacts(write: Write, variant: 'wrong' | 'correct'): void {
  for (const pact of authored.pacts) {
    const { pact_id, title } = pact
    const chain_id = pact_id === 43 && variant === 'wrong' ? 1 : pactEscrow.chainId
    const { spec_version, ...spec } = authored.pactSpec
    const identity = { spec_version, pact_id, chain_id, contract_address: pactEscrow.address }
    const report = { title, sha256: digest(title), pages: pact_id }
    const { source } = authored.pactSpec
    write(`pacts/${pact_id}/pact.json`, { ...pact, source })
    write(`pacts/${pact_id}/spec.json`, { ...identity, ...spec, title })
    write(`pacts/${pact_id}/instance.json`, { ...identity, report })
  }
}

export function startService(settings: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [join(packageRoot, 'dist/src/main.js')], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
