import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, describe, expect, test } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { json, useShell } from './shell.ts'

allowSlowTests('starts the compiled program')

const shell = useShell()
const { done } = shell
let keys: Record<string, string>

const at = (name: string) => join(shell.folder, name)

beforeAll(async () => {
  await shell.start()
  keys = await shell.newWallet('worker')
}, 120_000)

describe('a new wallet', () => {
  test('a new wallet registers, posts a receipt and verifies every answer about it', async () => {
    expect(statSync(at('worker.json')).mode & 0o777).toBe(0o600)
    const profile = ['--skill', 'proofreading', '--display-name', 'O’Neil & "Co"', '--oath']
    const receiptKey = ['--receipt-key-file', at('worker-receipts.json')]
    const worker = await done(['register', ...profile, ...receiptKey], keys)
    const claim = await done(['claim', '--display-name', "O'Neil"], keys)
    expect(claim).toMatchObject({ wallet: worker['wallet'], display_name: "O'Neil" })

    const post = `receipt post --rail x402 --amount 12.5 --save ${at('receipt.json')}`.split(' ')
    const receipt = await done([...post, '--summary', `it's "done"`], keys)
    const id = String(receipt['receipt_id'])
    expect(await done(`receipt verify ${id}`)).toMatchObject({ good: true, receipt_id: id })
    expect(await done(`receipt verify ${at('receipt.json')} --id ${id}`)).toMatchObject({
      good: true,
    })

    await done('partner signup --handle oneil --display-name x', keys)
    expect(await done('partner me', keys)).toMatchObject({ handle: 'oneil', status: 'active' })
    expect(await done(`score verify ${String(worker['wallet'])}`, keys)).toMatchObject({
      good: true,
    })
  })

  test('a receipt posted again receives the first answer again', async () => {
    const args = ['receipt', 'post', '--file', at('receipt.json')]
    const [first, second] = [await done(args, keys), await done(args, keys)]
    expect(second['receipt_id']).toBe(first['receipt_id'])
  })

  test('a refusal of the ledger is printed and exits with code 1', async () => {
    const ended = await shell.cli('receipt post --rail nowhere --amount 1', keys)
    expect(ended).toMatchObject({ code: 1, out: '' })
    expect(ended.err).toContain('422')
  })
})

describe('an answer that curl has saved', () => {
  const save = async (path: string, file: string) => {
    const sent = await shell.bash(`curl -sSf ${shell.url()}${path} -o ${at(file)}`)
    expect(sent.code).toBe(0)
  }

  test('an answer that curl has saved verifies as a receipt, with the id that it states', async () => {
    const post = 'receipt post --rail x402 --amount 3'.split(' ')
    const id = String((await done(post, keys))['receipt_id'])
    await save(`/api/v1/receipts/${id}`, 'answer.json')
    const verify = `receipt verify ${at('answer.json')}`
    expect(await done(verify)).toMatchObject({ good: true, receipt_id: id })
    const text = readFileSync(at('answer.json'), 'utf8')
    writeFileSync(at('answer.json'), text.replaceAll(id, `rcp_${'0'.repeat(64)}`))
    expect((await shell.cli(verify)).code).toBe(1)
  })

  test('an answer that curl has saved verifies as a document of the published set, by its SHA-256', async () => {
    await save('/api/v1/skills', 'skills.json')
    const verify = `document verify ${at('skills.json')}`
    expect(await done(verify)).toMatchObject({ good: true })
    writeFileSync(at('skills.json'), `${readFileSync(at('skills.json'), 'utf8')} `)
    expect((await shell.cli(verify)).code).toBe(1)
  })
})

describe('a receipt with one changed byte', () => {
  test('a receipt with one changed byte fails verification', async () => {
    const text = readFileSync(at('receipt.json'), 'utf8')
    writeFileSync(at('changed.json'), text.replace('12.5', '12.6'))
    const ended = await shell.cli(`receipt verify ${at('changed.json')} --json`)
    expect(ended.code).toBe(1)
    expect(json(ended.out)).toMatchObject({ good: false })
  })
})

describe('a printed curl command', () => {
  test('a printed curl command does the same as the command and contains no key', async () => {
    const { private_key: secret } = json(readFileSync(at('worker.json'), 'utf8'))
    for (const args of [
      ['register', '--skill', 'proofreading', '--bio', `It's $HOME, \`id\` and "quotes" \\ here`],
      ['receipt', 'post', '--rail', 'x402', '--amount', '0.000001'],
      ['partner', 'attestation', 'oneil', 'https://oneil.example.com/attest?a=b'],
      ['partner', 'me'],
      ['feedback', 'Sent by hand; it’s fine'],
    ]) {
      const printed = await shell.cli([...args, '--print-curl'], keys)
      expect({ args, ...printed }).toMatchObject({ code: 0 })
      expect(printed.out).not.toContain(String(secret).slice(2))
      const sent = await shell.bash(printed.out)
      expect(sent.code).toBe(0)
      expect(json(sent.out)).not.toHaveProperty('error')
    }
    const worker = await done('partner me', keys)
    expect(worker['attestation_endpoint_url']).toBe('https://oneil.example.com/attest?a=b')
  })

  test('a curl command is printed without sending anything, like a dry run', async () => {
    const before = await done('partner me', keys)
    for (const option of ['--print-curl', '--dry-run']) {
      await shell.cli(
        ['partner', 'attestation', 'oneil', 'https://other.example.com/', option],
        keys,
      )
    }
    expect((await done('partner me', keys))['attestation_endpoint_url']).toBe(
      before['attestation_endpoint_url'],
    )
  })
})

describe('the job exchange', () => {
  test('two partners use the job exchange from the posted job to its receipt', async () => {
    const bidder = await shell.newWallet('bidder')
    await done('partner signup --handle bidder --display-name b', bidder)
    writeFileSync(at('work.txt'), 'the work')
    const deadline = new Date(Date.now() + 86_400_000).toISOString()
    const terms = `--skill proofreading --budget 20 --deadline ${deadline}`.split(' ')
    const posted = await done(
      ['job', 'post', '--title', 'Read it', '--description', 'All of it.', ...terms],
      keys,
    )
    const id = String(posted['id'])
    const bid = await done(
      ['job', 'bid', id, '--price', '15', '--eta-hours', '3', '--proposal', 'I will.'],
      bidder,
    )
    await done(`job award ${id} --bid ${String(bid['id'])}`, keys)
    await done(
      `job deliver ${id} --uri https://files.example.com/work.txt --file ${at('work.txt')}`,
      bidder,
    )
    const accepted = await done(`job accept ${id}`, keys)
    expect(await done(`job show ${id}`)).toMatchObject({ status: 'accepted' })
    const receipt = await done(`receipt verify ${String(accepted['receipt_id'])}`)
    expect(receipt).toMatchObject({ good: true, kind: 'platform' })
    const me = await done('partner me', bidder)
    const score = await done(`score verify ${String(me['wallet'])}`, bidder)
    expect(score).toMatchObject({ good: true })
    expect(Number(score['rep_score'])).toBeCloseTo(Number(accepted['new_rep_score']), 2)
  })
})

describe('the published set', () => {
  test('the published set is verified over the network, as files, and with saved keys', async () => {
    expect(await done('document verify /api/v1/rails')).toMatchObject({ good: true })
    const keysFile = at('public/current/.well-known/signing-keys.json')
    for (const more of [[], ['--keys', keysFile], ['--dir', at('public/current')]]) {
      expect(await done(['snapshot', 'verify', ...more])).toMatchObject({ good: true })
    }
  })

  test('the published set fails verification after one byte of a document or of its manifest changed', async () => {
    const copy = at('copy')
    await shell.bash(`cp -r '${at('public/current/')}' '${copy}'`)
    const file = join(copy, 'api/v1/oaths.json')
    expect(await done(`document verify ${file}`)).toMatchObject({ good: true })
    const bytes = readFileSync(file)
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] ?? 0) ^ 1
    writeFileSync(file, bytes)
    expect((await shell.cli(`document verify ${file}`)).code).toBe(1)
    const set = await shell.cli(`snapshot verify --dir ${copy}`)
    expect(set).toMatchObject({ code: 1 })
    expect(set.out).toContain('/api/v1/oaths')
    const manifest = join(copy, 'snapshot.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"max_age":60', '"max_age":61'))
    expect((await shell.cli(['document', 'verify', join(copy, 'api/v1/rails.json')])).code).toBe(1)
  })

  test('the published set fails verification with other keys', async () => {
    const path = at('other-keys.json')
    const keysFile = readFileSync(at('public/current/.well-known/signing-keys.json'), 'utf8')
    const { public_key: other } = await done(`keygen ${at('other.json')} --kind ed25519`)
    writeFileSync(path, keysFile.replace(/"public_key":"[^"]+"/, `"public_key":"${String(other)}"`))
    expect((await shell.cli(`document verify /api/v1/rails --keys ${path}`)).code).toBe(1)
  })
})

describe('the command line without a ledger', () => {
  test('the command line exits with code 3 without a ledger', async () => {
    expect((await shell.cli('rails', { LEDGER_URL: 'http://127.0.0.1:9' })).code).toBe(3)
  })

  test('the command line exits with code 0 when the reader of its output stops early', async () => {
    const main = shell.program.scriptOf('scripts/cli/main.ts')
    const ended = await shell.bash(
      `set -o pipefail; '${process.execPath}' '${main}' --help | head -1`,
    )
    expect(ended).toMatchObject({ code: 0, err: '' })
  })
})
