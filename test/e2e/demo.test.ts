import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { manifestSchema } from '../../src/core/documents.ts'
import { installProgram, run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { addressOf } from './ledger.ts'

allowSlowTests('fills a demo ledger')

let program: Program
let folder: string
let demo: Running
let url: string

const dataDir = () => join(folder, 'data')
const published = (file: string) => readFileSync(join(dataDir(), 'public/current', file), 'utf8')

beforeAll(async () => {
  program = installProgram()
  folder = mkdtempSync(join(tmpdir(), 'ledger-demo-test-'))
  demo = run(program.scriptOf('scripts/demo.ts'), [], { DATA_DIR: dataDir(), PORT: '0' })
  await demo.says('"message":"serving"')
  url = await addressOf(demo)
})
afterAll(async () => {
  demo.kill('SIGTERM')
  expect(await demo.ended).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})

describe('npm run demo', () => {
  test('npm run demo serves workers, receipts, jobs and a year of polls', async () => {
    expect(JSON.parse(published('api/v1/leaderboard.json'))).toMatchObject({ count: 8 })
    expect(JSON.parse(published('api/v1/receipts.json'))).toMatchObject({ total: 50 })
    expect(JSON.parse(published('api/v1/jobs.json'))).toMatchObject({ total: 7 })
    const history = await fetch(`${url}/api/v1/rails/x402/history`)
    expect((await history.text()).match(/"polled_at":/g)?.length).toBeGreaterThan(50)
  })

  test('npm run demo marks every page, JSON document, feed and answer as a demo', async () => {
    const { documents } = manifestSchema.parse(JSON.parse(published('snapshot.json')))
    const formats = /^(?:text\/(?:html|markdown|plain)|application\/(?:json|.*xml))/
    const hashedElsewhere = /^\/(?:pacts\/.*\.json$|\.well-known\/agent-skills\/)/
    const unmarked = documents
      .filter(({ content_type: type, path }) => formats.test(type) && !hashedElsewhere.test(path))
      .filter(({ file }) => !/"(?:x-)?demo":true|Demo ledger: /.test(published(file)))
    expect(unmarked.map(({ path }) => path)).toEqual([])
    const onDemand = await fetch(`${url}/view/receipts?limit=2`)
    expect(await onDemand.text()).toContain('Demo ledger: ')
    for (const path of ['/', '/api/v1/health', '/api/v1/rails.csv', '/nowhere']) {
      expect((await fetch(`${url}${path}`)).headers.get('x-demo')).toBe('true')
    }
  })

  test('npm run demo refuses an existing folder that it did not make', async () => {
    const other = join(folder, 'other')
    mkdirSync(other)
    const refused = run(program.scriptOf('scripts/demo.ts'), [], { DATA_DIR: other, PORT: '0' })
    expect(await refused.ended).toBe(78)
    expect(refused.output()).toContain(`${other} exists and is not a demo folder`)
    expect(existsSync(join(other, 'ledger.db'))).toBe(false)
  })
})

describe('the service', () => {
  test.each([
    ['a demo folder without DEMO=on', () => ({ DATA_DIR: dataDir() }), 'contains demo data'],
    [
      'DEMO=on in another folder',
      () => ({ DATA_DIR: join(folder, 'real'), DEMO: 'on' }),
      'is not a demo folder',
    ],
  ])('service and builder refuse to start with %s', async (_case, settings, reason) => {
    for (const script of [program.service, program.builder]) {
      const refused = run(script, [], { ...settings(), PORT: '0' })
      expect(await refused.ended).toBe(78)
      expect(refused.output()).toContain(reason)
    }
  })
})
