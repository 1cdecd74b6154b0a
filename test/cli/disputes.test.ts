import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { openDispute } from '../../src/db/disputes.ts'
import { isPostgresUrl } from '../../src/db/postgres/engine.ts'
import { selectRecords } from '../../src/db/records.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { newDatabaseIn } from '../support/new-database.ts'
import { evmWallet } from '../support/wallets.ts'

const flood = evmWallet('flood')
const flag = (number: number) => ({ flag_id: `flg_${number.toString(16)}` })
const idOf = (number: number) => `dsp_${number.toString(16).padStart(24, '0')}`
const decided = z.object({ count: z.number(), disputes: z.array(z.string()) })
const listed = z.object({
  count: z.number(),
  disputes: z.array(z.object({ dispute_id: z.string(), claim: z.string().optional() })),
})

/** 300 disputes of one wallet about two rails, and one of a subject. */
async function floodedLedger() {
  const dir = tempFolder()
  const url = await newDatabaseIn(dir)
  const database = await tempDatabase({ url })
  const settings = { DATABASE_URL: isPostgresUrl(url) ? url : `sqlite:${url}`, DATA_DIR: dir }
  const facts = { display: flood.address, openedAt: '2026-11-20T10:00:00.000Z' }
  await database.write(async (tx) => {
    for (let number = 0; number <= 300; number += 1) {
      const dispute = {
        ...facts,
        id: idOf(number),
        wallet: flood.address.toLowerCase(),
        target: flag(number),
        rail: number % 3 === 0 ? 'x402' : 'olas',
        standing: number === 0 ? 'subject' : 'anyone',
      } as const
      await openDispute(tx, dispute, { text: `Claim ${number}.` })
    }
  })
  const admin = async (...args: string[]) => {
    const { code, out, err } = await runCommand(['admin', 'disputes', ...args, '--json'], settings)
    return {
      code,
      err,
      out: out === '' ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(out)),
    }
  }
  return { admin, dir, database }
}

test('admin disputes list shows every dispute of a flood in pages, that of a subject first', async () => {
  const { admin } = await floodedLedger()
  const first = listed.parse((await admin('list')).out)
  expect([first.count, first.disputes[0]?.dispute_id]).toEqual([200, idOf(0)])
  const cursor = first.disputes.at(-1)?.dispute_id ?? ''
  const second = listed.parse((await admin('list', '--cursor', cursor)).out)
  expect(second.count).toBe(101)
  const ids = [...first.disputes, ...second.disputes].map(({ dispute_id: id }) => id)
  expect(new Set(ids).size).toBe(301)
  expect((await admin('list', '--cursor', 'dsp_none')).code).toBe(2)
})

test('admin disputes reject decides all disputes of a flood in one act, each with its own step, and none of a subject', async () => {
  const { admin, database, dir } = await floodedLedger()
  const reason = ['--reason', 'The same words about 300 flags.']
  const reject = async (...args: string[]) =>
    decided.parse((await admin('reject', ...args, ...reason)).out)
  expect((await reject('flg_5')).disputes).toEqual([idOf(5)])
  expect((await reject(idOf(7))).disputes).toEqual([idOf(7)])
  expect((await reject('x402')).count).toBe(100)
  expect((await reject(flood.address)).count).toBe(198)
  const { reader } = database
  const open = await selectRecords(reader, 'disputes', { state: 'open' }).execute()
  expect(open.map(({ id }) => id)).toEqual([idOf(0)])
  const steps = await selectRecords(reader, 'log_queue', { kind: 'dispute' }).execute()
  expect(steps.filter(({ entryId }) => entryId.endsWith('/rejected'))).toHaveLength(300)
  const acts = readFileSync(join(dir, 'operator.log'), 'utf8').trim().split('\n')
  expect(acts).toHaveLength(4)
  expect(acts.at(-1)).toContain(flood.address)
  expect((await admin('reject', flood.address, ...reason)).code).toBe(1)
})

test.each(['answer', 'uphold', 'withhold'])(
  'admin disputes %s follows one dispute by its id, and refuses what names several',
  async (step) => {
    const { admin } = await floodedLedger()
    const follow = (dispute: string) => admin(step, dispute, '--reason', 'One of them is right.')
    for (const many of ['olas', 'flg_5', flood.address]) expect((await follow(many)).code).toBe(1)
    expect((await follow(idOf(5))).out).toMatchObject({ count: 1, disputes: [idOf(5)] })
  },
)

test('admin disputes withhold removes a claim once, and does not decide the dispute', async () => {
  const { admin } = await floodedLedger()
  const withhold = () => admin('withhold', idOf(300), '--reason', 'It names a person.')
  expect((await withhold()).out).toEqual({ event: 'withheld', count: 1, disputes: [idOf(300)] })
  expect((await withhold()).code).toBe(1)
  const { disputes } = listed.parse((await admin('list', '--status', 'open')).out)
  expect(disputes[1]).toMatchObject({ dispute_id: idOf(300) })
  expect(disputes[1]?.claim).toBeUndefined()
})
