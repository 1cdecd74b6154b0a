import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { argumentsOf } from '../../scripts/cli/command.ts'
import { additions, commands } from '../../scripts/cli/commands.ts'
import { curlCommand, describe as describeValue, plain, table } from '../../scripts/cli/output.ts'
import { routeOf, routes } from '../../src/contract/routes.ts'
import { version } from '../../src/contract/version.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { runCommand } from '../support/command-line.ts'

let folder: string
const at = (name: string) => join(folder, name)

/** Files and packages that the file needs before it runs. */
function staticImports(file: string, seen = new Set([file])): string[] {
  const text = readFileSync(file, 'utf8')
  for (const [, name = ''] of text.matchAll(
    /^(?:import|export) (?!type )[^;']*?from '([^']+)'/gm,
  )) {
    const target = name.startsWith('.') ? join(dirname(file), name) : name
    if (seen.has(target)) continue
    seen.add(target)
    if (name.startsWith('.')) staticImports(target, seen)
  }
  return [...seen]
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-commands-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('help', () => {
  test('help lists every command once, with its summary', async () => {
    const { code, out } = await runCommand(['--help'])
    expect(code).toBe(0)
    for (const { words, summary } of commands) {
      expect(out).toMatch(
        new RegExp(
          `^  ${words}\\b.*  ${summary.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`,
          'm',
        ),
      )
    }
    expect(new Set(commands.map(({ words }) => words)).size).toBe(commands.length)
    expect((await runCommand([])).out).toBe(out)
  })

  test.each(commands.map((command) => [command.words, command] as const))(
    'help for %s lists its operands and options without a key or a network',
    async (words, command) => {
      const { code, out, err } = await runCommand([...words.split(' '), '--help'])
      expect([code, err]).toEqual([0, ''])
      const { operands, options } = argumentsOf(command)
      for (const [name] of operands) expect(out).toContain(`<${name}>`)
      for (const name of options.keys()) expect(out).toContain(`--${name}`)
      expect(out).toContain('Exit codes')
    },
  )

  test('help lists the words that an option takes, however many there are', async () => {
    const few = await runCommand(['alerts', 'feed', '--help'])
    expect(few.out).toContain('--severity <info|warning|critical>')
    const many = await runCommand(['skill', 'propose', '--help'])
    expect(many.out).toMatch(/--category <text> +category: writing-content, .*agent-infrastructure/)
  })

  test('help offers every request of the API that answers with text, and names the others', async () => {
    const { out } = await runCommand(['--help'])
    const without = routes.filter(({ summary }) => !out.includes(`  ${summary}\n`))
    expect(without.map(({ id }) => id)).toEqual([
      // `receipt post` signs the receipt, too.
      'submitReceipt',
      // The new wallet signs, too.
      'changePartnerWallet',
      'getCard',
      'getRailBadge',
      'getWorkerBadge',
      'getDeskChart',
      'getLogTile',
      'getExportFile',
    ])
  })

  test('every column of a table is a member of the answer', () => {
    for (const [id, own] of entriesOf(additions)) {
      const schema = routeOf(id).answers[200]?.schema ?? z.never()
      const members = JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any' }))
      for (const column of own?.columns?.split(' ') ?? [])
        expect({ id, column, isKnown: members.includes(`"${column}":`) }).toMatchObject({
          isKnown: true,
        })
    }
  })

  test('help is printed without loading rails, databases and chain libraries', () => {
    const loaded = staticImports('scripts/cli/main.ts')
    expect(loaded).toContain('scripts/cli/commands.ts')
    const heavy =
      /^(?:builder\/(?:rails|jobs)|src\/db\/(?!errors)|viem|sqlite3|pg|kysely|sharp|@bitauth)/
    expect(loaded.filter((name) => heavy.test(name))).toEqual([])
  })

  test('--version prints the version of the package', async () => {
    expect(await runCommand(['--version'])).toMatchObject({
      code: 0,
      out: `agent-income-ledger ${version}\n`,
    })
  })

  test('help for a group lists its commands', async () => {
    const { code, out } = await runCommand(['job', '--help'])
    expect(code).toBe(0)
    expect(out).toContain('job post')
    expect(out).not.toContain('partner signup')
    expect((await runCommand(['job'])).code).toBe(2)
  })
})

describe('a wrong command line', () => {
  test.each([
    ['an unknown command', ['frobnicate']],
    ['a command with the name of an object property', ['__proto__']],
    ['an unknown option', ['rails', '--verbose']],
    ['an option with the name of an object property', ['rails', '--constructor']],
    ['an option without its value', ['rails', '--ledger']],
    ['a flag with a value', ['rails', '--json=yes']],
    ['an option twice', ['rails', '--ledger', 'http://a.test', '--ledger', 'http://b.test']],
    ['one argument too many', ['rails', 'x402']],
    ['a missing argument', ['rail']],
    ['a missing required option', ['partner', 'signup', '--handle', 'abc']],
    ['an address that is not an HTTP URL', ['rails', '--ledger', 'file:///etc/passwd']],
    ['an address with a password', ['rails', '--ledger', 'https://me:secret@ledger.test']],
    ['a path instead of a name', ['rail', '../health']],
    ['a name with a line end', ['rail', 'x402\r\nHost: evil.test']],
    ['an unknown kind of key', ['keygen', 'x', '--kind', 'rsa']],
    ['a key in the arguments', ['register', '--key', `0x${'1'.repeat(64)}`]],
    ['no key at all', ['register', '--skill', 'proofreading']],
    ['an unknown severity', ['alerts', 'feed', '--severity', 'grave']],
  ])('a command line with %s exits with 2, a reason and no result', async (_, args) => {
    const { code, out, err } = await runCommand(args)
    expect([code, out]).toEqual([2, ''])
    expect(err).not.toBe('')
    expect(err).not.toMatch(/\n {4}at /)
    expect(err).not.toContain('secret')
  })

  test.each([
    ['a missing list', ['register'], 'skills: give at least one (`--skill`)'],
    [
      'a number that is text',
      `job bid job_${'1'.repeat(24)} --price 1 --eta-hours x --proposal y`.split(' '),
      'eta_hours: must be a number (`--eta-hours`)',
    ],
    [
      'an unknown choice',
      ['alerts', 'feed', '--severity', 'grave'],
      'severity: must be one of info',
    ],
  ])('the error message names the option of %s', async (_case, args, message) => {
    expect((await runCommand(args)).err).toContain(message)
  })

  test('an error message cannot move the cursor of a terminal', async () => {
    const { err } = await runCommand(['\u001B[2Jrails'])
    expect(err).not.toContain('\u001B')
  })

  test('a command for a ledger that cannot be reached exits with 3', async () => {
    expect(await runCommand(['rails'])).toMatchObject({ code: 3, out: '' })
  })
})

describe('a key file', () => {
  test('a key file is readable by its owner only, never shown and never overwritten', async () => {
    const file = at('new.json')
    const first = await runCommand(['keygen', file, '--kind', 'evm', '--json'])
    expect(first.code).toBe(0)
    const secret = /"private_key": "(0x[0-9a-f]{64})"/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
    expect(secret).not.toBe('')
    expect(first.out).not.toContain(secret)
    const again = await runCommand(['keygen', file, '--kind', 'evm'])
    expect(again.code).toBe(2)
    expect(readFileSync(file, 'utf8')).toContain(secret)
  })

  test.each(['644', '640', '604', '622', '601'])('refuses a key file of mode %s', async (mode) => {
    const file = at(`loose-${mode}`)
    writeFileSync(file, `0x${'ab'.repeat(32)}`)
    chmodSync(file, mode)
    const { code, err } = await runCommand(['partner', 'me', '--key-file', file, '--dry-run'])
    expect(code).toBe(2)
    expect(err).toContain(`chmod 600 ${file}`)
    chmodSync(file, 0o600)
    expect((await runCommand(['partner', 'me', '--key-file', file, '--dry-run'])).code).toBe(0)
  })

  test('a key file without a key is refused, and its content is not shown', async () => {
    const file = at('not-a-key')
    writeFileSync(file, 'hunter2', { mode: 0o600 })
    const { code, err } = await runCommand(['partner', 'me', '--key-file', file])
    expect(code).toBe(2)
    expect(err).not.toContain('hunter2')
  })

  test('a key file may be replaced by LEDGER_KEY', async () => {
    const { code, out } = await runCommand(['partner', 'me', '--dry-run'], {
      LEDGER_KEY: `0x${'ab'.repeat(32)}`,
    })
    expect(code).toBe(0)
    expect(out).toMatch(/agent-income-ledger-partner-auth-v1:\d{13}:GET:\/api\/v1\/partners\/me\n/)
    expect(out).not.toContain('abababab')
  })
})

describe('output', () => {
  test('nested values are printed with a line for each field and a table for each list', () => {
    const value = { job: { id: 'x', tags: [] }, bids: [{ id: 1, price: 2 }, { id: 3 }] }
    expect(describeValue(value)).toBe(
      'job.id    x\njob.tags  none\n\nbids\n  id  price\n  1   2\n  3   -\n',
    )
  })

  test('rows that do not fit into a table are printed as blocks, without JSON', () => {
    const steps = [{ at: 1 }, { at: 2 }]
    const value = { rows: [{ id: 1, of: { rail: 'x402' }, steps, tags: [3, 4] }, { id: 2 }] }
    expect(describeValue(value)).toBe(
      '\nrows\n  id       1\n  of.rail  x402\n  tags     3, 4\n\n  steps\n    at\n    1\n    2\n\n  id  2\n',
    )
    const wide = describeValue({ rows: [{ id: 1, text: 'long '.repeat(30) }, { id: 2 }] })
    expect(wide).toContain('  id    1\n  text  long')
    expect(wide).toContain('\n\n  id  2\n')
  })

  test('an unknown figure is printed as unknown, wherever the answer names it, and never as zero', () => {
    const rail = { rail: 'x402', judged: false, status: 'pre-traction', tpv_30d_usdc: 0 }
    const row = { ...rail, unknown_figures: ['tpv_30d_usdc'], expected_usd_per_day: null }
    expect(describeValue(row)).toMatch(/^status +not judged$/m)
    expect(describeValue(row)).toMatch(/^tpv_30d_usdc +unknown$/m)
    const columns = ['rail', 'status', 'tpv_30d_usdc', 'expected_usd_per_day']
    expect(table(columns, [row])).toMatch(/\nx402 +not judged +unknown +unknown\n$/)
    expect(table(columns, [{ ...row, unknown_figures: [] }])).toMatch(/ 0 +unknown\n$/)
  })

  test('an empty table says so', () => {
    expect(table(['id'], [])).toBe('No entries.\n')
  })

  test('printed values have no control characters and bidirectional marks', () => {
    expect(plain('a\u001B[31mb\u202Ec\u0007')).toBe(String.raw`a\u{1b}[31mb\u{202e}c\u{7}`)
    expect(table(['name'], [{ name: 'x\ny' }])).toBe('name\nx y\n')
    expect(describeValue({ a: null, long_name: ['x', 'y'] })).toBe(
      'a          -\nlong_name  x, y\n',
    )
  })

  test('a printed curl command keeps every character of a body', () => {
    const curl = curlCommand({
      method: 'POST',
      url: 'https://ledger.test/api/v1/feedback',
      headers: { 'Content-Type': 'application/json' },
      body: `{"message":"it's $HOME \`id\` \\\\ \\"x\\""}`,
      signed: [],
    })
    expect(curl).toContain(String.raw`'{"message":"it'\''s $HOME ` + '`id`')
  })
})
