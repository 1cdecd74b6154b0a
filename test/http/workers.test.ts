import { beforeEach, describe, expect, test } from 'vitest'

import { bodySha256 } from '../../src/auth/messages.ts'
import { worker, workerList } from '../../src/contract/schemas/worker.ts'
import { isoTime, minuteMs } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { topStandings } from '../../src/db/leaderboard.ts'
import { insertRecord } from '../../src/db/records.ts'
import { makePartner } from '../support/partners.ts'
import { receiptRow, storeReceipt } from '../support/receipts.ts'
import {
  atOnce,
  countRows,
  expectRefusal,
  signOath,
  registrationBody,
} from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, nearWallet, signedBody } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const service = useService()
let skills: readonly string[]
const alice = evmWallet('alice')
const register = '/api/v1/workers/register'

beforeEach(async () => {
  skills = [...service.actions.reference().skills].slice(0, 3)
})

const post = service.postJson
const get = service.getJson
/** Signs each registration at another millisecond. */
function registration(wallet: TestWallet, changes: object = {}, spelling = wallet.address) {
  service.clock.advance(1)
  return registrationBody(service, wallet, { skills, ...changes }, { spelling })
}

const rows = (table: 'workers' | 'oath_history' | 'used_messages') => countRows(service, table)

describe('worker registration', () => {
  test('worker registration returns the worker, readable at once', async () => {
    const facts = {
      display_name: 'Zoë 日本 🙂',
      url: 'https://zoe.example/',
      bio: 'Two\nlines.',
      receipt_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    }
    const made = await post(register, await registration(alice, facts))
    expect(made).toMatchObject({ status: 201, body: { ...facts, wallet: alice.address, skills } })
    expect(worker.strict().parse(made.body).registered_at).toBe(made.body['updated_at'])
    for (const spelling of [alice.address, alice.id]) {
      expect(await get(`/api/v1/workers/${spelling}`)).toEqual({ status: 200, body: made.body })
    }
  })

  test('a second registration replaces the entry of the same wallet in upper or lower case', async () => {
    const first = await post(register, await registration(alice, { display_name: 'A' }))
    const again = await post(register, await registration(alice, { skills: [skills[0]] }, alice.id))
    expect(again.status).toBe(200)
    expect(again.body).toMatchObject({ wallet: alice.address, skills: [skills[0]] })
    expect(again.body).not.toHaveProperty('display_name')
    expect(again.body['registered_at']).toBe(first.body['registered_at'])
    expect(again.body['updated_at']).not.toBe(first.body['updated_at'])
    expect(await rows('workers')).toBe(1)
    expect((await get(`/api/v1/workers?skill=${skills[1] ?? ''}`)).body['total']).toBe(0)
  })

  test('worker registration accepts a skill outside the taxonomy from partners only', async () => {
    const refused = await post(register, await registration(alice, { skills: ['glass-blowing'] }))
    expectRefusal(refused, 422, 'refused')
    expect(await rows('workers')).toBe(0)
    await makePartner(service, alice, { handle: 'alice' })
    const taken = await post(register, await registration(alice, { skills: ['glass-blowing'] }))
    expect(taken).toMatchObject({ status: 201, body: { skills: ['glass-blowing'] } })
  })

  test('worker registration may include the worker oath, which adds a history row', async () => {
    const sworn = async (sign: TestWallet['sign']) => {
      const unsigned = await registration(alice, { oath_signature: '' })
      const oath = await signOath(service, 'worker', { ...alice, sign }, unsigned.timestamp)
      return { ...unsigned, oath_signature: oath }
    }
    const refused = await post(register, await sworn(evmWallet('mallory').sign))
    expectRefusal(refused, 401, 'signature_invalid')
    expect(await rows('oath_history')).toBe(0)
    expect((await post(register, await sworn(alice.sign))).status).toBe(201)
    expect(await rows('oath_history')).toBe(1)
  })

  test('worker registration is refused with the oath and body signatures swapped', async () => {
    const unsigned = await registration(alice, { oath_signature: '' })
    const { timestamp, signature } = unsigned
    const oath = await signOath(service, 'worker', alice, timestamp)
    const swapped = { ...unsigned, signature: oath, oath_signature: signature }
    expect((await post(register, swapped)).status).toBe(401)
    expect((await post(register, { ...unsigned, oath_signature: signature })).status).toBe(401)
  })
})

describe('the list of workers', () => {
  beforeEach(async () => {
    for (let index = 0; index < 7; index += 1) {
      const chosen = index % 2 === 0 ? skills.slice(0, 1) : skills.slice(1)
      await post(register, await registration(nearWallet(`worker ${index}`), { skills: chosen }))
    }
  })

  test('the list of workers has pages, newest first, without repetition', async () => {
    const seen: string[] = []
    let query = '?limit=3'
    for (;;) {
      const { status, body } = await get(`/api/v1/workers${query}`)
      expect(status).toBe(200)
      const page = workerList.strict().parse(body)
      expect(page).toMatchObject({ count: page.workers.length, total: 7 })
      seen.push(...page.workers.map(({ wallet }) => wallet))
      if (page.next_cursor === undefined) break
      query = `?limit=3&cursor=${page.next_cursor}`
      // A registration in between does not change a listing that has begun.
      if (seen.length === 3) await post(register, await registration(nearWallet('worker 6')))
    }
    expect(seen).toEqual(
      Array.from({ length: 7 }, (_, index) => nearWallet(`worker ${6 - index}`).address),
    )
  })

  test('the list of workers is filtered by skill, wallet and time', async () => {
    const total = async (query: string) => (await get(`/api/v1/workers?${query}`)).body['total']
    expect(await total(`skill=${skills[0] ?? ''}`)).toBe(4)
    expect(await total(`skill=${skills[2] ?? ''}`)).toBe(3)
    expect(await total(`wallet=${nearWallet('worker 2').address}`)).toBe(1)
    const since = isoTime(service.clock.now() - 2)
    expect(await total(`since=${since}`)).toBe(2)
  })
})

const claimPath = '/api/v1/claim'

async function claim(
  wallet: TestWallet,
  changes: {
    readonly name?: string
    readonly oathBy?: TestWallet
    readonly kind?: 'claim' | 'worker'
    readonly email?: string
  } = {},
) {
  service.clock.advance(1)
  const nowMs = service.clock.now()
  const { name = 'Zoë', oathBy = wallet, kind = 'claim', ...rest } = changes
  const signer = { ...wallet, sign: oathBy.sign }
  const oath_signature = await signOath(service, kind, signer, isoTime(nowMs))
  return await signedBody(
    wallet,
    'claim',
    { display_name: name, oath_signature, ...rest },
    { nowMs },
  )
}

describe('a claim by wallet', () => {
  test('a claim by wallet claims the spot and stores the oath in the history', async () => {
    const body = await claim(alice)
    const made = await post(claimPath, body)
    expect(made).toMatchObject({
      status: 201,
      body: {
        wallet: alice.address,
        display_name: 'Zoë',
        rank: null,
        claimed_at: body['timestamp'],
        next: 'https://ledger.test/api/v1/partners/signup',
      },
    })
    const row = await service.actions.database.reader
      .selectFrom('oath_history')
      .select(['kind', 'oath_version', 'wallet', 'action', 'binding', 'body_sha256'])
      .executeTakeFirstOrThrow()
    expect(row).toEqual({
      kind: 'claim',
      oath_version: 1,
      wallet: alice.id,
      action: 'claimSpot',
      binding: 'statement',
      body_sha256: bodySha256(body),
    })
    expect((await post(claimPath, body)).status).toBe(200)
    expect(await rows('oath_history')).toBe(1)
  })

  test('a claim by wallet returns 409 for a claimed spot', async () => {
    await post(claimPath, await claim(alice))
    expectRefusal(await post(claimPath, await claim(alice, { name: 'Other' })), 409, 'spot_claimed')
    expect(await rows('oath_history')).toBe(1)
  })

  test('a claim by wallet is refused without the claim oath signed by that wallet', async () => {
    const wrong = [
      await claim(alice, { oathBy: evmWallet('mallory') }),
      await claim(alice, { kind: 'worker' }),
      { ...(await claim(alice)), oath_signature: (await claim(alice)).oath_signature },
    ]
    for (const body of wrong) {
      expect(await post(claimPath, body)).toMatchObject({
        status: 401,
        body: { code: 'signature_invalid', details: expect.stringContaining('oath') as unknown },
      })
    }
    const { oath_signature: _, ...none } = await claim(alice)
    expectRefusal(await post(claimPath, none), 400, 'invalid_input')
    expect(await rows('oath_history')).toBe(0)
  })
})

describe('a claim by e-mail', () => {
  const email = 'Worker@ledger.example'
  const codeIn = (text = '') =>
    /^Your code is (?<code>\w{8})\.$/m.exec(text)?.groups?.['code'] ?? ''
  const emailedCode = () => codeIn(service.actions.emails.at(-1)?.text)

  test('a claim by e-mail sends a code and accepts it', async () => {
    const asked = await post(claimPath, { email, display_name: 'Zoë' })
    expect(asked).toMatchObject({ status: 202, body: { status: 'code_sent' } })
    const { text, to } = service.actions.emails[0] ?? {}
    expect(to).toBe(email)
    expect(text).toContain(`${JSON.stringify({ email, code: emailedCode() })} to POST https://`)
    expect(text).toContain(`--code ${emailedCode()} --ledger https://`)
    const made = await post(claimPath, { email: email.toLowerCase(), code: emailedCode() })
    expect(made).toMatchObject({
      status: 201,
      body: { wallet: null, display_name: 'Zoë', rank: null },
    })
    expect(made.body).toMatchObject({ claimed: false, claim: 'email' })
    expect(await post(claimPath, { email, code: emailedCode() })).toEqual({ ...made, status: 200 })
  })

  test('a claim by e-mail sends no code for an old signature, even with an idempotency key', async () => {
    const body = await claim(alice, { email })
    service.clock.advance(10 * minuteMs)
    const late = await post(claimPath, body, { 'Idempotency-Key': 'late' })
    expectRefusal(late, 401, 'signature_expired')
    expect(service.actions.emails).toEqual([])
  })

  test('an e-mail in a signed claim stores the oath, and never replaces a claim of the same key', async () => {
    expect((await post(claimPath, await claim(alice, { email }))).status).toBe(202)
    expect(await rows('oath_history')).toBe(1)
    const code = { email, code: emailedCode() }
    expect((await post(claimPath, code)).body).toMatchObject({ claimed: true, claim: 'key' })
    const again = await claim(alice, { email: 'other@ledger.example', name: 'Other' })
    expectRefusal(await post(claimPath, again), 409, 'spot_claimed')
    expect(service.actions.emails).toHaveLength(1)
    expect(await rows('oath_history')).toBe(1)
  })

  test('only the e-mail itself reveals that its address already has a claim', async () => {
    const asked = await post(claimPath, { email, display_name: 'Zoë' })
    await post(claimPath, { email, code: emailedCode() })
    const again = await post(claimPath, { email, display_name: 'Again' })
    expect(again).toEqual(asked)
    const message = service.actions.emails.at(-1)
    expect(message?.to).toBe(email)
    expect(message?.text).toMatch(/has already claimed its spot/)
    expect(message?.text).not.toContain('Your code is')
    const { reader } = service.actions.database
    expect(await reader.selectFrom('email_codes').select('used').execute()).toEqual([{ used: 1 }])
  })

  test('the request of a stranger replaces no code, and each e-mail states the name and wallet of its code', async () => {
    await post(claimPath, { email, display_name: 'Zoë', wallet: alice.id })
    await post(claimPath, { email, display_name: 'Stranger' })
    const [own, other] = service.actions.emails.map(({ text }) => text)
    expect(own).toContain(`claims the spot of the wallet ${alice.address} under the name “Zoë” on`)
    expect(other).toContain('claims a spot under the name “Stranger” on')
    const answers = await atOnce(20, () => post(claimPath, { email, code: '00000000' }))
    for (const answer of answers) expectRefusal(answer, 401, 'code_invalid')
    expect(await post(claimPath, { email, code: codeIn(own).toLowerCase() })).toMatchObject({
      status: 201,
      body: { wallet: alice.address, display_name: 'Zoë' },
    })
    expectRefusal(await post(claimPath, { email, code: codeIn(other) }), 409, 'spot_claimed')
  })

  test('a claim by e-mail stores neither the address nor the code', async () => {
    await post(claimPath, { email, display_name: 'Zoë' })
    const { reader } = service.actions.database
    const code = await reader
      .selectFrom('email_codes')
      .select(['email_hash', 'code_hash'])
      .executeTakeFirstOrThrow()
    expect(code.email_hash).toMatch(/^[0-9a-f]{64}$/)
    expect(code.code_hash).toMatch(/^[0-9a-f]{64}$/)
    const logged = JSON.stringify(service.lines()).toLowerCase()
    expect(logged).not.toContain(emailedCode().toLowerCase())
    expect(logged).not.toContain(email.toLowerCase())
  })

  test('an e-mailed code expires after fifteen minutes', async () => {
    await post(claimPath, { email, display_name: 'Zoë' })
    service.clock.advance(15 * 60_000)
    expect((await post(claimPath, { email, code: emailedCode() })).status).toBe(401)
    await post(claimPath, { email, display_name: 'Zoë' })
    service.clock.advance(15 * 60_000 - 1)
    expect((await post(claimPath, { email, code: emailedCode() })).status).toBe(201)
  })

  test('a wallet replaces a claim by e-mail, and a second e-mail does not', async () => {
    await post(claimPath, { email, display_name: 'Squatter', wallet: alice.id })
    expect((await post(claimPath, { email, code: emailedCode() })).status).toBe(201)
    const late = { email: 'other@ledger.example', display_name: 'Late', wallet: alice.address }
    expect(await post(claimPath, late)).toMatchObject({
      status: 409,
      body: {
        code: 'spot_claimed',
        details: expect.stringContaining('send a claim that its key signs') as unknown,
      },
    })
    expect((await post(claimPath, await claim(alice, { name: 'Alice' }))).status).toBe(201)
  })

  const earn = async ({ address }: TestWallet) => {
    const from = parseWallet(evmWallet('payer').address)
    const row = receiptRow(service.clock.now(), {
      id: `rcp_${'0'.repeat(64)}`,
      from,
      to: parseWallet(address),
    })
    await service.actions.database.write((tx) => storeReceipt(tx, row))
  }
  const details: unknown = expect.stringContaining('send a claim that its key signs')
  const needsKey = { status: 403, body: { code: 'wallet_needs_key', details } }

  test('refuses a claim by e-mail of a wallet that is registered, has receipts or is claimed by key', async () => {
    const [registered, earning, claimed] = [evmWallet('bob'), evmWallet('carol'), evmWallet('dave')]
    await post(register, await registration(registered))
    await earn(earning)
    await post(claimPath, await claim(claimed))
    for (const wallet of [registered, earning, claimed]) {
      const body = { email, display_name: 'Squatter', wallet: wallet.address }
      expect(await post(claimPath, body)).toMatchObject(needsKey)
    }
    expect(service.actions.emails).toEqual([])
  })

  test('a claim by e-mail is refused when the wallet signs a claim before the code is used', async () => {
    await post(claimPath, { email, display_name: 'Squatter', wallet: alice.id })
    await post(claimPath, await claim(alice))
    expect(await post(claimPath, { email, code: emailedCode() })).toMatchObject(needsKey)
  })

  test('a wallet with receipts and a claim by e-mail is shown as unclaimed and without the name', async () => {
    const { database } = service.actions
    await post(claimPath, { email, display_name: 'Squatter', wallet: alice.id })
    await post(claimPath, { email, code: emailedCode() })
    await earn(alice)
    const shown = async () => (await topStandings(database.reader, 1, service.clock.now()))[0]
    expect(await shown()).toMatchObject({ claim: 'email', displayName: null })
    await post(claimPath, await claim(alice, { name: 'Alice' }))
    expect(await shown()).toMatchObject({ claim: 'key', displayName: 'Alice' })
  })

  test('the key of a registered worker adds an e-mail to its claim', async () => {
    await post(register, await registration(alice))
    expect((await post(claimPath, await claim(alice, { email }))).status).toBe(202)
    expect(await post(claimPath, { email, code: emailedCode() })).toMatchObject({
      status: 201,
      body: { wallet: alice.address, claimed: true, claim: 'key' },
    })
  })

  test('at most three codes an hour are e-mailed to one address, and ten from one network', async () => {
    for (let sent = 0; sent < 3; sent += 1) {
      expect((await post(claimPath, { email, display_name: 'Zoë' })).status).toBe(202)
    }
    expectRefusal(await post(claimPath, { email, display_name: 'Zoë' }), 429, 'rate_limited')
    for (let sent = 0; sent < 7; sent += 1) {
      const other = { email: `w${sent}@ledger.example`, display_name: 'Zoë' }
      expect((await post(claimPath, other)).status).toBe(202)
    }
    const eleventh = { email: 'x@ledger.example', display_name: 'Z' }
    expect((await post(claimPath, eleventh)).status).toBe(429)
    service.clock.advance(3_600_001)
    expect((await post(claimPath, { email, display_name: 'Zoë' })).status).toBe(202)
  })

  test('at most ten codes an hour are e-mailed for one IPv6 /64, and thirty for its /48', async () => {
    await service.restart({ trustedProxies: ['127.0.0.1'] })
    const ask = async (sent: number, address: string) => {
      const body = { email: `w${sent}@ledger.example`, display_name: 'Zoë' }
      return (await post(claimPath, body, { 'X-Forwarded-For': address })).status
    }
    for (let sent = 0; sent < 10; sent += 1) expect(await ask(sent, `2001:db8::${sent}`)).toBe(202)
    expect(await ask(10, '2001:db8::ffff:1')).toBe(429)
    expect(await ask(10, '2001:db8:0:1::1')).toBe(202)
    for (let sent = 11; sent < 30; sent += 1) {
      expect(await ask(sent, `2001:db8:0:${sent}::1`)).toBe(202)
    }
    expect(await ask(30, '2001:db8:0:ff::1')).toBe(429)
    expect(await ask(30, '2001:db8:1::1')).toBe(202)
  })

  test('the forms of an e-mail address with plus and dots count as one', async () => {
    const forms = ['victim+1@ledger.example', 'v.ictim@ledger.example', 'Vic.Tim+2@ledger.example']
    for (const form of forms) {
      expect((await post(claimPath, { email: form, display_name: 'Zoë' })).status).toBe(202)
    }
    const fourth = { email: 'victim+3@ledger.example', display_name: 'Zoë' }
    expect((await post(claimPath, fourth)).status).toBe(429)
  })

  test('at most 600 codes an hour are e-mailed in all', async () => {
    const { database, clock } = service.actions
    const now = isoTime(clock.now())
    await database.write(async (tx) => {
      for (let sent = 0; sent < 599; sent += 1) {
        const send = {
          emailHash: `mailbox ${sent}`,
          remoteHash: `network ${sent}`,
          rangeHash: null,
        }
        await insertRecord(tx, 'email_sends', { ...send, sentAt: now })
      }
    })
    expect((await post(claimPath, { email, display_name: 'Zoë' })).status).toBe(202)
    expect((await post(claimPath, { email, display_name: 'Zoë' })).status).toBe(429)
  })

  test('a claim returns 503 if the e-mail is not accepted, and the unsent code is invalid', async () => {
    await service.restart({
      actions: {
        outbound: { mail: () => Promise.reject(new Error(`550 no such user ${email}`)) },
      },
    })
    expect((await post(claimPath, { email, display_name: 'Zoë' })).status).toBe(503)
    const { reader } = service.actions.database
    expect(await reader.selectFrom('email_codes').select('used').execute()).toEqual([])
    expect(JSON.stringify(service.lines())).not.toContain(email)
  })
})
