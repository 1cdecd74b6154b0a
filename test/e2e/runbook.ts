/** The commands of the runbook for backups and restores, and a ledger whose disk is lost after a backup. */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'vitest'

import { execute, runCommand } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import type { Program } from '../support/program.ts'
import { boardReceipt, writeVersion } from './board.ts'
import { sendReceipt } from './clients.ts'
import { newLedger, stop } from './ledger.ts'
import type { Ledger } from './ledger.ts'

const [, section = ''] =
  /^## Backup and restore$(.*?)^## /ms.exec(readFileSync('scripts/deploy/operating.md', 'utf8')) ??
  []
const [
  backUp = '',
  copyLog = '',
  restore = '',
  putLogBack = '',
  putKeysBack = '',
  putDatabaseBack = '',
  accept = '',
  drop = '',
  ...untested
] = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) => commands)
if (drop === '' || untested.length > 0) throw new Error('the runbook has other commands')

export const runbook = {
  backUp,
  copyLog,
  restore,
  putLogBack,
  putKeysBack,
  putDatabaseBack,
  accept,
  drop,
} as const

/** Runs commands of the runbook with the folders of a ledger and with copies in `root`. */
export async function follow(
  program: Program,
  { env }: Ledger,
  root: string,
  commands: string,
): Promise<CommandResult> {
  const main = program.scriptOf('scripts/cli/main.ts')
  const functions = `set -e\nledger() { ${process.execPath} ${main} "$@"; }\n`
  const places = { ...env, BACKUP: join(root, 'backup'), SAFE: join(root, 'safe') }
  for (const name of ['BACKUP', 'SAFE'] as const) mkdirSync(places[name], { recursive: true })
  const ended = await execute('bash', ['-c', functions + commands], '/', places)
  expect(ended, ended.err).toMatchObject({ code: 0 })
  return ended
}

/** Verifies that the served log continues the one that the last call saw. Returns its size. */
export async function verifiedSize(url: string, state: string): Promise<number> {
  const args = ['log', 'verify', '--state', state]
  const { code, out, err } = await runCommand(args, { LEDGER_URL: url }, { fetch })
  expect(code, out + err).toBe(0)
  return sizeIn(state)
}

export const sizeIn = (state: string): number => Number(readFileSync(state, 'utf8').split('\n')[1])

/** Runs each job of the builder once. */
export async function buildOnce(ledger: Ledger): Promise<{ code: number | null; output: string }> {
  const builder = ledger.builder(['--once'])
  return { code: await builder.ended, output: builder.output() }
}

export async function expectBuilt(ledger: Ledger): Promise<void> {
  const { code, output } = await buildOnce(ledger)
  expect(code, output).toBe(0)
}

async function withService(ledger: Ledger, work: (url: string) => Promise<void>): Promise<void> {
  const { service, url } = await ledger.start({ BUILDER: 'off' })
  await work(url)
  await stop(service)
}

/** Expects that the log has grown for a reader who saw it as in `state`. */
export async function expectLonger(ledger: Ledger, state: string): Promise<void> {
  const own = join(ledger.dataDir, '../state')
  copyFileSync(state, own)
  await withService(ledger, async (url) => {
    expect(await verifiedSize(url, own)).toBeGreaterThan(sizeIn(state))
  })
}

/** Has published one set before and one after its backup, which has the first of two receipts. */
export async function lostLedger(program: Program, settings: Readonly<Record<string, string>>) {
  const ledger = newLedger(program, { POLL: 'off', ...settings })
  const root = join(ledger.dataDir, '..')
  const [seenAtBackup, seenLast] = [join(root, 'seen-at-backup'), join(root, 'seen-last')]
  const accepted = async (url: string, at: number) => {
    expect(await sendReceipt(url, await boardReceipt(at))).toMatchObject({ status: 201 })
  }
  await withService(ledger, async (url) => await accepted(url, 1))
  writeVersion(program, 1)
  await expectBuilt(ledger)
  await follow(program, ledger, root, runbook.backUp)
  await withService(ledger, async (url) => {
    await verifiedSize(url, seenAtBackup)
    await accepted(url, 2)
  })
  writeVersion(program, 2)
  await expectBuilt(ledger)
  await withService(ledger, async (url) => {
    copyFileSync(seenAtBackup, seenLast)
    await verifiedSize(url, seenLast)
  })
  expect(sizeIn(seenLast)).toBeGreaterThan(sizeIn(seenAtBackup))
  return { ledger, root, seenAtBackup, seenLast }
}
