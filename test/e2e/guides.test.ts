/** The commands of the guides, in the order in which their readers run them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, expect, test } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { json, useShell } from './shell.ts'

allowSlowTests('starts the bundled program')

const serviceName = 'guided-ledger'
const shell = useShell({ SERVICE_NAME: serviceName })
const guide = (name: string) =>
  readFileSync(new URL(`../../data/docs/${name}.md`, import.meta.url), 'utf8')

/** The command of the guide that starts with these words, with its continued lines. */
function commandOf(text: string, words: string): string {
  const command = new RegExp(`^agent-income-ledger ${words}(?:.*\\\\\\n)*.*$`, 'm').exec(text)?.[0]
  if (command === undefined) throw new Error(`the guide has no command ${words}`)
  return command
}

type Values = Readonly<Record<string, unknown>>

/** The settings that the guide for partners exports for all guides. */
const settings = () =>
  (/^export .*\n/m.exec(guide('becoming-a-partner'))?.[0] ?? '')
    .replace('{{site_url}}', shell.url())
    .replace('{{service_name}}', serviceName)

/** Runs a command of a guide with `--json`. Returns its answer. */
async function answered(command: string, values: Values) {
  const main = shell.program.scriptOf('scripts/cli/main.ts')
  const env = Object.entries(values)
    .map(([name, value]) => `export ${name}=${JSON.stringify(value)}\n`)
    .join('')
  const program = `agent-income-ledger() { ${process.execPath} ${main} "$@" --json; }\n`
  const { code, out, err } = await shell.bash(`${settings()}${env}${program}${command}`)
  expect({ command, code, err }).toMatchObject({ code: 0 })
  return json(out)
}

beforeAll(() => shell.start())

test('the guide to the job exchange leads two partners from a job to its receipt', async () => {
  const hiring = guide('hiring').replaceAll('2027-01-31T00:00:00Z', inTenDays())
  const [poster, worker] = [await shell.newWallet('poster'), await shell.newWallet('worker')]
  const signup = guide('becoming-a-partner')
  await answered(commandOf(signup, 'partner signup'), poster)
  const other = commandOf(signup, 'partner signup').replace('acme-agents', 'other-agents')
  await answered(other, worker)
  writeFileSync(join(shell.folder, 'manual.txt'), 'the work')

  const { id: job } = await answered(commandOf(hiring, 'job post'), poster)
  await answered(commandOf(hiring, 'jobs'), worker)
  const { id: bid } = await answered(commandOf(hiring, 'job bid '), { ...worker, JOB: job })
  await answered(commandOf(hiring, 'job bids'), { ...poster, JOB: job })
  await answered(commandOf(hiring, 'job award'), { ...poster, JOB: job, BID: bid })
  await answered(commandOf(hiring, 'job deliver'), { ...worker, JOB: job })
  const accepted = await answered(commandOf(hiring, 'job accept'), { ...poster, JOB: job })
  const verify = commandOf(hiring, 'receipt verify')
  expect(await answered(verify, { RECEIPT: accepted['receipt_id'] })).toMatchObject({ good: true })
})

test('the guide to webhooks subscribes an endpoint and replaces its secret', async () => {
  const [signup, webhooks] = [guide('becoming-a-partner'), guide('webhooks')]
  const partner = await shell.newWallet('subscriber')
  const signUp = commandOf(signup, 'partner signup').replace('acme-agents', 'subscribers')
  await answered(signUp, partner)
  expect(await answered(commandOf(signup, 'partner me'), partner)).toMatchObject({ tier: 'free' })
  for (const text of [signup, webhooks]) {
    const { id, secret } = await answered(commandOf(text, 'alerts subscribe'), partner)
    const values = { ...partner, SUBSCRIPTION: id }
    expect(secret).toMatch(/^whsec_/)
    if (text === signup) await answered(commandOf(signup, 'alerts test'), values)
    else {
      const rotated = await answered(commandOf(webhooks, 'alerts rotate'), values)
      expect(rotated['secret']).not.toBe(secret)
    }
  }
})

test('the guide to disputes opens, shows and withdraws a dispute', async () => {
  const disputing = guide('disputing')
  const wallet = await shell.newWallet('disputer')
  const { dispute_id: id } = await answered(commandOf(disputing, 'dispute open'), wallet)
  const values = { ...wallet, DISPUTE: id }
  const shown = await answered(commandOf(disputing, 'dispute show'), values)
  expect(shown).toMatchObject({ dispute_id: id, state: 'open' })
  const ended = await answered(commandOf(disputing, 'dispute withdraw'), values)
  expect(ended).toMatchObject({ state: 'withdrawn' })
})

test('the guide for platforms makes a receipt that can be verified', async () => {
  const integrating = guide('integrating')
  const { wallet } = await shell.done(`keygen ${join(shell.folder, 'paid.json')} --kind evm`)
  for (const words of ['keygen', 'receipt sign']) {
    await answered(commandOf(integrating, words), { WORKER: wallet })
  }
})

const inTenDays = () => new Date(Date.now() + 10 * 86_400_000).toISOString()
